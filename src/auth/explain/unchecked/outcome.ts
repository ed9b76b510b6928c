import * as base64url from 'jose/base64url';
import { checkOptions } from '../../options/check-options.ts';
import { identifierOf, listedIssuers } from '../../options/issuers.ts';
import { Rejected, rejectFor } from '../../rejections.ts';
import { readClaims } from '../../token/claims.ts';
import { createHeaderReader, readUnverifiedIssuer } from '../../token/header.ts';
import type { Verification, Verifier, VerifierOptions } from '../../token/verifier.ts';
import type { GuardOptions, RejectionReason, Requirements } from '../../types.ts';
import { parseJsonObject } from '../../values/json.ts';
import { whenSettled } from '../../values/promises.ts';
import { describeChecks } from '../checks/checks.ts';
import { type Advice, adviceFor, type Explained } from '../checks/explained.ts';
import { observe } from '../observed.ts';
import { requestWith } from '../pasted.ts';

/*
 * What a guard with other options would decide about the pasted token if its signature were good. Whatever is suggested
 * is judged before it is printed, so that it leads nobody in a circle. No keys are fetched: only the token names this
 * issuer.
 */

/** What the outcome of advice is found from. */
export interface Advised {
  readonly given: GuardOptions;
  /** With the options that were given. */
  readonly explained: Explained;
  readonly scheme: string;
}

/**
 * Returns what else has to change once the first advice was followed, and whether a guard then accepts the token. Empty
 * if it does and the signature was verified before the check that rejected it.
 */
export async function describeOutcome(first: Advice['change'], { given, explained, scheme }: Advised): Promise<string> {
  const { issuer } = checkOptions(given);
  // An issuer can have options of its own.
  if (typeof issuer === 'function' || issuer.some((each) => typeof each === 'object')) return '';
  const { text, requirements } = explained;
  let said = '';
  // Fixed keys would have to change too, and none are needed here.
  let options =
    given.keys === undefined ? given : { ...given, keys: undefined, jwksUri: 'https://issuer.invalid/keys' };
  let isVerified = true;
  const changed = new Set<string>();
  for (let change = first; change !== undefined; ) {
    for (const name of Object.keys(change)) changed.add(name);
    isVerified &&= !('issuer' in change || 'algorithms' in change || 'tokenType' in change);
    options = { ...options, ...change };
    const reason = await judge(options, text, scheme, requirements);
    if (reason === undefined)
      return isVerified ? said : `${said}. Then the token is accepted, if its signature is good`;
    const checked = checkOptions(options);
    const listed = listedIssuers(checked).map(identifierOf);
    const named = listed.find((each) => each === explained.claims.iss);
    const checks = describeChecks({ ...explained, options: { ...checked, issuer: listed }, issuer: named });
    const next = adviceFor(checks, reason);
    change = Object.keys(next.change ?? {}).some((name) => !changed.has(name)) ? next.change : undefined;
    said += change ? `. Then ${next.text}` : `. Then it would still be rejected: ${next.text}`;
  }
  return said;
}

/**
 * Returns why a guard with these options would reject the token, or undefined if it would accept it.
 * @throws {TypeError} no guard can be created with these options
 */
export async function judge(
  given: GuardOptions,
  text: string,
  scheme: string,
  requirements: Requirements,
): Promise<RejectionReason | undefined> {
  const checked = checkOptions(given);
  const { core, policy, seen } = observe(checked, requirements, { verifierFor: createReader });
  await core.decide(requestWith(text, scheme, undefined, checked), policy);
  core.stop();
  return seen.rejections[0]?.reason;
}

/** Returns a verifier that takes every signature for good. */
function createReader({ trusts, tokenType, now }: VerifierOptions): Verifier {
  const readHeader = createHeaderReader(trusts.algorithms, tokenType);
  return {
    verify(token): Verification | Promise<Verification> {
      const header = readHeader(token);
      if (header instanceof Rejected) return header;
      return whenSettled(trusts.sole ?? trusts.of(readUnverifiedIssuer(token)), (trust) => {
        if (trust instanceof Rejected) return trust;
        if (!trust.rules.algorithms.includes(header.algorithm)) return rejectFor('algorithm_unsupported');
        const payload = parseJsonObject(base64url.decode(token.split('.')[1] ?? ''));
        const claims = readClaims(payload, trust.checks, now() / 1000);
        return claims instanceof Rejected ? claims : { claims };
      });
    },
    state: () => ({ cacheHits: 0, cacheEntries: 0 }),
  };
}
