import { afterAll, expect, setSystemTime, test } from 'bun:test';
import { summaryOf } from '../../src/probe/report/harm.ts';
import type { BlindFault } from './faults/blind-list.ts';
import { blindServers } from './faults/blind-servers.ts';
import { tried } from './faults/run.ts';

// What the first line of a report says of a server with a single fault: what a person who knows the server would say.

afterAll(() => void setSystemTime());

/** Rows of these topics alone, where the server that a fault is planted in has lesser ones of its own. */
const keys = ['key', 'fetch'];
const causes: readonly (readonly [fault: BlindFault, words: RegExp, only?: readonly string[]])[] = [
  ['decodes only, and never verifies a signature', /Verify the signature/],
  ['accepts alg none, in any case of letters', /List the algorithms that the API accepts/],
  ['accepts any token whose signature part is empty', /List the algorithms that the API accepts/],
  ['verifies HS256 with the PEM text of the public key', /List asymmetric algorithms only/],
  ['verifies with the key in the header jwk', /turn off keys that come with a token/],
  ['fetches the key set that the header jku names', /turn off keys that come with a token/],
  ['verifies with the certificate in the header x5c', /turn off keys that come with a token/],
  ['reads the key from a file that kid names (../../dev/null)', /never use it as the name of a file/],
  [
    'uses any key of the set if kid is unknown, and accepts when none fits',
    /Reject a token whose key is not found: here it passes/,
  ],
  ['ignores crit', /rejects crit/],
  ['verifies PS256 with a key whose alg is RS256', /publish alg with each key/],
  ['trusts a symmetric key (kty oct) in the key set', /Accept asymmetric algorithms only/],
  ['verifies ES256 by a library that accepts r = s = 0', /accepts a number that no key signs/],
  ['decrypts a JWE to its public key and trusts a plain JWT inside', /require a signed token within/],
  ['ignores exp', /Turn on the check of exp/],
  ['grants a day of clock skew', /seconds of clock skew, not hours/],
  ['accepts a token without exp', /Require exp, do not only check it/, ['claims-exp', 'expiry']],
  ['ignores nbf', /Turn on the check of nbf/],
  ['ignores aud', /Require aud, and compare it exactly/],
  ['accepts a token without aud', /Require aud, do not only compare it/],
  ['ignores iss', /Require iss, and compare it/],
  ['finds the scope inside other words (read:messages in xread:messagesx)', /compare it with each word/],
  ['serves from a cache after exp', /cache of verified tokens/],
  ['caches accepted tokens by their last 16 characters', /key it by the whole token/],
  ['serves everybody while the key set cannot be fetched', /Reject each token whose key cannot be found/],
  ['follows a redirect of the key set to another host', /Follow no redirect of the key set/],
  ['never fetches the key set again', /fetch the keys again for a kid that it does not know/, keys],
  ['trusts a withdrawn key for ever', /each fetch replace all keys/, keys],
  ['loses all keys when one key of the set has an unknown type', /keys of other types/, ['fetch']],
  ['sends 200 with an error in the body for a bad token', /Send a rejection with the status 401 or 403/],
  ['sends a 401 without WWW-Authenticate', /Send WWW-Authenticate: Bearer/],
  ['sends 403 for an expired token', /Respond with 401, not 403, to an expired token/],
  ['serves when the header is Bearer without a token', /the scheme and no token/],
  ['guards GET only, and serves HEAD', /for all methods, HEAD and OPTIONS included/],
  ['skips the check for X-Forwarded-For: 127.0.0.1', /without exceptions/],
  ['accepts a DPoP-bound token as a Bearer token', /Turn on DPoP or certificates/],
  ['takes any proof without comparing its key with cnf.jkt', /Compare the key of the proof with cnf\.jkt/],
  ['ignores htm of a proof', /Compare htm with the method/],
  ['accepts a proof of yesterday', /whose iat is minutes ago/],
  ['ignores ath of a proof', /compare it with the SHA-256 of the token/],
];

test(`the first line names the cure of ${causes.length} single causes`, async () => {
  const wrong: string[] = [];
  for (const [fault, words, only = []] of causes) {
    const [base, server] = blindServers[fault];
    const skip = ['error-huge', 'fetch-hang', ...(base === 'proofs' ? [] : ['dpop'])];
    const patient = base === 'own';
    const report = await tried(server, { isWithin: true, patient, skip, ...(only.length > 0 && { only }) });
    const first = summaryOf(report).replace(/^.* First/, 'First');
    if (!words.test(first)) wrong.push(`${fault}: ${first}`);
  }
  expect(wrong).toEqual([]);
}, 1_800_000);
