import { checkOptions } from '../../options/check-options.ts';
import { identifierOf, listedIssuers } from '../../options/issuers.ts';
import { Refusal, refusals } from '../../refusals.ts';
import { readClaims } from '../../token/claims.ts';
import { createHeaderReader } from '../../token/header.ts';
import type { CheckedOptions, RefusalReason } from '../../types.ts';
import { describeChecks } from '../checks/checks.ts';
import { adviceFor, type Check, type Explained } from '../checks/explained.ts';
import { describeChange } from '../checks/header-checks.ts';
import type { decodePasted } from '../pasted.ts';
import { type Explanation, withRender } from '../render.ts';
import { type Suggestion, suggestOptions } from './suggestion.ts';

const unchecked = { verdict: 'not reached', words: 'not checked' } as const;

/** Lists what a token says, and the options that would accept it. */
export function explainUnchecked(
  decoded: ReturnType<typeof decodePasted>,
  given: object,
  nameOf: Explained['nameOf'],
): Explanation {
  const { header, claims } = decoded;
  const isJwt = Object.keys(header).length > 0 && Object.keys(claims).length > 0;
  const suggestion = isJwt ? suggestOptions(header, claims) : undefined;
  // Stands for what is not known, such as where the keys are.
  const unknown = { issuer: 'https://issuer.invalid/', audience: 'none', jwksUri: 'https://issuer.invalid/keys' };
  const rules = checkOptions({ ...given, ...unknown, ...suggestion?.options });
  const options = { ...rules, issuer: [] };
  // With a scope, those of the token are listed.
  const requirements = { scope: 'any' };
  const nowSeconds = Date.now() / 1000;
  const checks = describeChecks({ ...decoded, options, requirements, nowSeconds, nameOf });
  const listed = checks.flatMap(({ name, has }) => (has === undefined ? [] : { name, has, ...unchecked }));
  const change = describeChange(decoded.text);
  const end =
    suggestion === undefined
      ? `The text is not a signed JWT${change ? ` (${change})` : ''}, so it does not show which settings would accept it`
      : describeSuggestion(suggestion, checks, whyRejected(decoded, rules, nowSeconds));
  const advice = `Nothing was checked: ${nameOf('issuer')} and ${nameOf('audience')} are required. ${end}`;
  return withRender({ checks: listed, isAccepted: false, status: undefined, error: undefined, advice, suggestion });
}

function describeSuggestion(
  { options }: Suggestion,
  checks: readonly Check[],
  reason: RefusalReason | undefined,
): string {
  // The warnings say why.
  if (options.issuer === undefined || options.audience === undefined) return 'No settings accept the token:';
  if (reason === undefined) return 'These would accept the token, if its keys are found:';
  const wrong = adviceFor(checks, reason) || refusals[reason].description;
  return `A guard rejects this token: ${wrong}. For an access token of the same issuer:`;
}

/** Returns why a guard with the suggested options would reject the token, other than that it has expired. */
function whyRejected(
  { text, claims }: ReturnType<typeof decodePasted>,
  rules: CheckedOptions,
  nowSeconds: number,
): RefusalReason | undefined {
  const header = createHeaderReader(rules.algorithms, rules.tokenType)(text);
  if (header instanceof Refusal) return header.reason;
  const [issuer = ''] = listedIssuers(rules).map(identifierOf);
  const read = readClaims(claims, { ...rules, issuer }, nowSeconds);
  return read instanceof Refusal && read.reason !== 'token_expired' ? read.reason : undefined;
}
