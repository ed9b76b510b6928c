import { checkOptions } from '../../options/check-options.ts';
import { identifierOf, listedIssuers } from '../../options/issuers.ts';
import { Refusal, refusals } from '../../refusals.ts';
import { readClaims } from '../../token/claims.ts';
import { createHeaderReader } from '../../token/header.ts';
import type { CheckedOptions, GuardOptions, RefusalReason } from '../../types.ts';
import { describeChecks } from '../checks/checks.ts';
import { adviceFor, type Explained } from '../checks/explained.ts';
import { describeChange } from '../checks/header-checks.ts';
import type { decodePasted } from '../pasted.ts';
import { type Explanation, withRender } from '../render.ts';
import { suggestOptions } from './suggestion.ts';

const unchecked = { verdict: 'not reached', words: 'not checked' } as const;

/** Lists what a token says, with the options that would accept it, or why no issuer and audience would. */
export function explainUnchecked(
  decoded: ReturnType<typeof decodePasted>,
  given: Pick<GuardOptions, 'introspect'>,
  nameOf: Explained['nameOf'],
): Explanation {
  const { header, claims, aside } = decoded;
  const isJwt = Object.keys(header).length > 0 && Object.keys(claims).length > 0;
  const suggestion = isJwt ? suggestOptions(header, claims) : undefined;
  // Stands for what is not known, such as where the keys are.
  const unknown = { issuer: 'https://issuer.invalid/', audience: 'none', jwksUri: 'https://issuer.invalid/keys' };
  const rules = checkOptions({ ...given, ...unknown, ...suggestion?.options });
  const options = { ...rules, issuer: [], audience: [] };
  // With a scope, those of the token are listed.
  const requirements = { scope: 'any' };
  const nowSeconds = Date.now() / 1000;
  const checks = describeChecks({ ...decoded, options, requirements, nowSeconds, nameOf });
  const listed = checks.flatMap(({ name, has }) => (has === undefined ? [] : { name, has, ...unchecked }));
  const reason = whyRejected(decoded, rules, nowSeconds);
  const explained = { checks: listed, isAccepted: false, suggestion };
  const { issuer, audience } = suggestion?.options ?? {};
  const isSuggested = issuer !== undefined && audience !== undefined;
  if (reason === undefined || (suggestion && !isSuggested)) {
    // The warnings say why.
    const none = suggestion && '. No settings accept the token:';
    const end = isSuggested ? '. These would accept the token, if its keys are found:' : (none ?? '');
    const advice = `Nothing was checked: ${nameOf('issuer')} and ${nameOf('audience')} are required${aside}${end}`;
    return withRender({ ...explained, status: undefined, error: undefined, advice });
  }
  const { status, error, description } = refusals[reason];
  const advice = (adviceFor(checks, reason) || description) + aside;
  const end = suggestion ? '. For an access token of the same issuer:' : '';
  return withRender({ ...explained, status, error, advice: advice + end });
}

/** Returns why a guard would reject the token with any issuer and audience. */
function whyRejected(
  decoded: ReturnType<typeof decodePasted>,
  rules: CheckedOptions,
  nowSeconds: number,
): RefusalReason | undefined {
  const { text, claims, otherScheme } = decoded;
  if (otherScheme !== undefined) return 'scheme_unsupported';
  if (text === '' || /[ \t]/.test(text)) return 'credentials_malformed';
  const header = createHeaderReader(rules.algorithms, rules.tokenType)(text);
  if (header instanceof Refusal)
    return rules.introspect && header.reason === 'token_opaque' ? undefined : header.reason;
  if (describeChange(decoded)) return 'signature_invalid';
  const [issuer = ''] = listedIssuers(rules).map(identifierOf);
  const read = readClaims(claims, { ...rules, issuer }, nowSeconds);
  return read instanceof Refusal ? read.reason : undefined;
}
