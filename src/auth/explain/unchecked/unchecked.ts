import { checkOptions } from '../../options/check-options.ts';
import { isDiscoverable } from '../../options/issuers.ts';
import { Rejected, rejections } from '../../rejections.ts';
import { createHeaderReader } from '../../token/header.ts';
import type { CheckedOptions, GuardOptions, RejectionReason } from '../../types.ts';
import { describeChecks } from '../checks/checks.ts';
import { adviceFor, doubtKind, type Explained } from '../checks/explained.ts';
import { describeChange } from '../checks/header-checks.ts';
import type { decodePasted } from '../pasted.ts';
import { type Explanation, withRender } from '../render.ts';
import { judge } from './outcome.ts';
import { suggestOptions } from './suggestion.ts';

const unchecked = { verdict: 'not reached', words: 'not checked' } as const;

/** Lists what a token says, with the options that would accept it, or why no issuer and audience would. */
export async function explainUnchecked(
  decoded: ReturnType<typeof decodePasted>,
  given: Pick<GuardOptions, 'introspect'>,
  nameOf: Explained['nameOf'],
): Promise<Explanation> {
  const { header, claims, aside } = decoded;
  const isJwt = Object.keys(header).length > 0 && Object.keys(claims).length > 0;
  const suggestion = isJwt ? suggestOptions(header, claims) : undefined;
  // Stands for what is not known, such as where the keys are.
  const unknown = { issuer: 'https://issuer.invalid/', audience: 'none', jwksUri: 'https://issuer.invalid/keys' };
  const rules = checkOptions({ ...given, ...unknown, ...suggestion?.options });
  const options = { ...rules, issuer: [], audience: [] };
  // With a requirement, the scopes of the token are listed.
  const requirements = rules.requireScope ? {} : { scope: 'any' };
  const nowSeconds = Date.now() / 1000;
  const checks = describeChecks({ ...decoded, options, requirements, nowSeconds, nameOf });
  const listed = checks.flatMap(({ name, has }) => (has === undefined ? [] : { name, has, ...unchecked }));
  const { issuer, audience } = suggestion?.options ?? {};
  const isSuggested = issuer !== undefined && audience !== undefined;
  const isFound = isDiscoverable(String(issuer), { jwksAllowHttp: false });
  const needsKeys = isFound ? '' : `, with ${nameOf('jwksUri')}`;
  const reason = await whyRejected(decoded, rules, isSuggested);
  const explained = { checks: listed, isAccepted: false, suggestion };
  if (reason === undefined || (suggestion && !isSuggested)) {
    // The warnings say why.
    const none = suggestion && '. No settings accept the token:';
    const accepting = `. These would accept the token${needsKeys}, if its signature is good:`;
    const end = isSuggested ? accepting : (none ?? '');
    const advice = `Nothing was checked: ${nameOf('issuer')} and ${nameOf('audience')} are required${aside}${end}`;
    return withRender({ ...explained, status: undefined, error: undefined, advice });
  }
  const { status, error } = rejections[reason];
  const doubt = doubtKind(claims);
  const { text } = adviceFor(checks, reason);
  const advice = (doubt && reason === 'scope_insufficient' ? doubt : text + (doubt && `. ${doubt}`)) + aside;
  const end = suggestion ? '. For an access token of the same issuer:' : '';
  return withRender({ ...explained, status, error, advice: advice + end });
}

/** Returns why a guard would reject the token, whatever issuer and audience it has. */
async function whyRejected(
  decoded: ReturnType<typeof decodePasted>,
  rules: CheckedOptions,
  isSuggested: boolean,
): Promise<RejectionReason | undefined> {
  const { text, otherScheme } = decoded;
  if (otherScheme !== undefined) return 'scheme_unsupported';
  if (text === '' || /[ \t]/.test(text)) return 'credentials_malformed';
  const header = createHeaderReader(rules.algorithms, rules.tokenType)(text);
  if (header instanceof Rejected)
    return rules.introspect && header.reason === 'token_opaque' ? undefined : header.reason;
  if (describeChange(decoded)) return 'signature_invalid';
  return isSuggested ? judge(rules, text, 'Bearer', {}) : undefined;
}
