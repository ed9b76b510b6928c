import { checkOptions } from '../options/check-options.ts';
import { describeChecks } from './checks.ts';
import type { Explained } from './explained.ts';
import type { decodePasted } from './pasted.ts';
import { type Explanation, withRender } from './render.ts';
import { suggestOptions } from './suggestion.ts';

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
  // Only what the token has is listed, so these are never read.
  const unknown = { issuer: 'https://issuer.invalid/', audience: 'none' };
  const options = { ...checkOptions({ ...given, ...unknown, ...suggestion?.options }), issuer: [] };
  const nothing = {
    isIntrospected: false,
    issuer: undefined,
    lookup: undefined,
    lastFailure: undefined,
    keyFault: undefined,
  };
  // With a scope, those of the token are listed.
  const requirements = { scope: 'any' };
  const nowSeconds = Date.now() / 1000;
  const checks = describeChecks({ ...decoded, ...nothing, options, requirements, nowSeconds, nameOf });
  const listed = checks.flatMap(({ name, has }) => (has === undefined ? [] : { name, has, ...unchecked }));
  const end = isJwt
    ? 'These would accept the token:'
    : 'The text is not a signed JWT, so it does not show which settings would accept it';
  const advice = `Nothing was checked: ${nameOf('issuer')} and ${nameOf('audience')} are required. ${end}`;
  return withRender({ checks: listed, isAccepted: false, status: undefined, error: undefined, advice, suggestion });
}
