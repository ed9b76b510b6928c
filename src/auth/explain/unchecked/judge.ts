import * as base64url from 'jose/base64url';
import { createGuardCore } from '../../guard/core.ts';
import { guardOf } from '../../guard/guard.ts';
import { checkOptions } from '../../options/check-options.ts';
import { Rejected, rejectFor } from '../../rejections.ts';
import { readClaims } from '../../token/claims.ts';
import { createHeaderReader, readUnverifiedIssuer } from '../../token/header.ts';
import type { Verification, Verifier, VerifierOptions } from '../../token/verifier.ts';
import type { GuardOptions, RejectionReason, Requirements } from '../../types.ts';
import { parseJsonObject } from '../../values/json.ts';
import { whenSettled } from '../../values/promises.ts';
import { observe } from '../observed.ts';
import { requestWith } from '../pasted-proof.ts';

/*
 * What a guard with other options would decide about the pasted token if its signature were good. Whatever is suggested
 * is judged before it is printed. No keys are fetched: only the token names this issuer.
 */

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
  const { options, listeners, seen } = observe(checked);
  const core = createGuardCore(options, { ...listeners, verifierFor: createReader });
  await guardOf(core).check(requestWith(text, scheme, undefined, checked), requirements);
  core.stop();
  return seen.rejections[0]?.reason;
}

/** Returns a verifier that takes every signature for good. */
function createReader(options: VerifierOptions): Verifier {
  const { trusts, tokenType, now } = options;
  const readHeader = createHeaderReader(trusts.algorithms, tokenType);
  return {
    verify(token): Verification | Promise<Verification> {
      const header = readHeader(token);
      if (header instanceof Rejected) return header;
      const trusted = trusts.sole ?? trusts.of(readUnverifiedIssuer(token));
      return whenSettled(trusted, (trust) => {
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
