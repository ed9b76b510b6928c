import { afterAll, beforeAll, describe, expect, setDefaultTimeout, setSystemTime, test } from 'bun:test';
import type fc from 'fast-check';
import { ISSUER, publishedBy } from '../support/checked.ts';
import { type Challenge, challengeOf, expectError, expectMessage } from '../support/expect-error.ts';
import { PRIVATE, SCOPED } from '../support/fixture.ts';
import { createFrozenClock } from '../support/frozen-clock.ts';
import { crowdedKeySet } from '../support/keys.ts';
import { AUDIENCE, mintToken, SCOPE } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';
import { holds, propertyTimeoutMs, tokens } from './arbitraries.ts';
import { type AlgorithmName, DEFAULTS, type Decision, decide, type World } from './oracle.ts';
import { authorizations, build, NOW_SECONDS, plans, plansOfTwo, publishedByTwo } from './token-plans.ts';

const defaults = { ...DEFAULTS, audience: AUDIENCE, nowSeconds: NOW_SECONDS };
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA'.split(' ') as AlgorithmName[];

/** Settings that are not the defaults, with two issuers that publish their keys under one kid. */
const settingsOfTwo: Readonly<Record<string, Partial<World>>> = {
  'all algorithms': { algorithms },
  'a required claim': {
    algorithms: ['RS256', 'PS256', 'ES384'],
    scopeClaim: ['scp', '/realm/roles', 'scope'],
    audienceClaim: 'client_id',
    requiredClaims: { token_use: 'access' },
  },
  'a prefix of scopes': {
    algorithms: ['ES256', 'EdDSA'],
    scopeClaim: ['permissions', 'scp'],
    scopePrefix: 'api/',
    audienceClaim: 'azp',
  },
};

/** Returns the service without a process, for issuers whose keys it has fetched. */
async function targetFor(here: World, tokenCacheSize: number) {
  const { issuers, nowSeconds, scopePrefix, ...settings } = here;
  const { options } = publishedBy(issuers);
  const { get, guard } = createTestApp({
    options: { ...options, ...settings, tokenCacheSize, scopePrefix: scopePrefix || undefined },
    environment: { clock: createFrozenClock(), random: () => 0 },
  });
  const send = (authorization: string | null, path = PRIVATE) =>
    get(path, { headers: authorization === null ? {} : { authorization } });
  guard.start();
  // No timer is due before the fetch has ended; a token with an unknown kid waits for it.
  const header = { alg: settings.algorithms[0], kid: 'never published' };
  for (const issuer of options.issuer) await send(`Bearer ${mintToken(issuer, { header })}`);
  return { guard, send };
}
type Target = Awaited<ReturnType<typeof targetFor>>;

/**
 * Returns the code of a response, `accepted` for the message. Fails unless the whole response is as the contract says.
 */
async function codeOf(response: Response): Promise<string> {
  if (response.status === 200) {
    await expectMessage(response);
    return 'accepted';
  }
  const { code } = (await response.clone().json()) as { readonly code: string };
  const { error = 'bare' } = code === 'invalid_header' ? challengeOf(response) : {};
  const challenge = code === 'invalid_header' ? (error as Challenge) : undefined;
  expect([undefined, 'bare', 'invalid_request', 'invalid_token']).toContain(challenge);
  await expectError(response, code === 'Unauthorized' ? 403 : 401, code, challenge);
  return code;
}

/**
 * Sends a request on both paths to every target, to the first twice, compares all with the oracle, and returns the
 * code.
 */
async function codeEverywhere(
  targets: readonly Target[],
  authorization: string | null,
  { outcomes, scopes }: Decision,
) {
  let code = '';
  for (const path of [PRIVATE, SCOPED]) {
    const isForbidden = path === SCOPED && !scopes.includes(SCOPE);
    const allowed = outcomes.map((one) => (one === 'accepted' && isForbidden ? 'Unauthorized' : one));
    const texts = new Set<string>();
    for (const target of path === PRIVATE ? [...targets, ...targets.slice(0, 1)] : targets) {
      const response = await target.send(authorization, path);
      texts.add(`${response.headers.get('www-authenticate')} ${await response.clone().text()}`);
      code = await codeOf(response);
      if (!allowed.some((one) => one === code))
        throw new Error(`${path} responded with ${code}, where the contract has ${allowed.join(' or ')}`);
    }
    if (texts.size > 1) throw new Error(`One request, several responses: ${[...texts].join('\n')}`);
  }
  return code;
}

/** A service that caches tokens, one that does not, and the oracle make the same decisions. */
async function agrees(
  name: string,
  here: World,
  inputs: fc.Arbitrary<string | null>,
  numRuns: number,
  expected: readonly string[],
): Promise<void> {
  const targets = [await targetFor(here, 1000), await targetFor(here, 0)];
  const codeOfAll = (value: string | null) => codeEverywhere(targets, value, decide(value, here));
  await holds(name, inputs, numRuns, expected, codeOfAll);
  for (const { guard } of targets) guard.stop();
}

setDefaultTimeout(propertyTimeoutMs);

describe('the service and an independent verifier agree', () => {
  beforeAll(() => setSystemTime(NOW_SECONDS * 1000));
  afterAll(() => setSystemTime());

  const bearer = (plan: Parameters<typeof build>[0]) => `Bearer ${build(plan)}`;
  const codes = ['Unauthorized', 'accepted', 'invalid_claims', 'invalid_header', 'token_expired'];
  const codesOfHeaders = ['accepted', 'authorization_header_missing', 'invalid_header'];
  const one = { ...defaults, issuers: { [ISSUER]: crowdedKeySet() } };
  const tolerant = { ...one, clockToleranceSeconds: 1 };
  test.each<Parameters<typeof agrees>>([
    ['mutated tokens', one, plans.map(bearer), tokens / 2, codes],
    ['mutated tokens, with a clock tolerance of a second', tolerant, plans.map(bearer), tokens / 2, codes],
    ['random Authorization headers', one, authorizations, tokens / 4, codesOfHeaders],
    ...Object.entries(settingsOfTwo).map(([name, settings]): Parameters<typeof agrees> => {
      const here = { ...defaults, issuers: publishedByTwo(), ...settings };
      const inputs = plansOfTwo(here.algorithms).map(bearer);
      return [`mutated tokens of two issuers, with ${name}`, here, inputs, tokens / 10, codes];
    }),
  ])('on %s', agrees);
});
