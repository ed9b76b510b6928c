import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { AUDIENCE, mintToken, SCOPE } from '../support/mint.ts';
import { type Answer, readAnswer } from './answers.ts';
import { authorizations, keySets } from './arbitraries.ts';
import {
  build,
  ISSUER,
  NOW_SECONDS,
  type Plan,
  plans,
  plansOfTwo,
  publishedByTwo,
  publishedKeys,
} from './mutations.ts';
import { type AlgorithmName, DEFAULTS, type Judgement, judge, type World } from './oracle.ts';
import { propertyTimeoutMs, tokens } from './run.ts';
import { createTarget, PRIVATE, SCOPED, type Target } from './target.ts';

const world = (keys: readonly unknown[], toleranceSeconds = 0): World => ({
  ...DEFAULTS,
  issuers: { [ISSUER]: keys },
  audience: AUDIENCE,
  nowSeconds: NOW_SECONDS,
  toleranceSeconds,
});

const everyAlgorithm = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA'.split(' ') as AlgorithmName[];

/** Settings that are not the defaults, with two issuers that publish their keys under one kid. */
const settingsOfTwo: readonly Partial<World>[] = [
  { algorithms: everyAlgorithm },
  {
    algorithms: ['RS256', 'PS256', 'ES384'],
    scopeClaim: ['scp', '/realm/roles', 'scope'],
    audienceClaim: 'client_id',
    requiredClaims: { token_use: 'access' },
  },
  { algorithms: ['ES256', 'EdDSA'], scopeClaim: ['permissions', 'scp'], scopePrefix: 'api/', audienceClaim: 'azp' },
];

async function targetFor(
  { issuers, audience, nowSeconds, toleranceSeconds, scopePrefix, ...options }: World,
  cacheSize: number,
): Promise<Target> {
  const names = Object.keys(issuers);
  const [only = '', ...others] = names;
  const target = createTarget({
    issuer: others.length === 0 ? only : names,
    nowMs: nowSeconds * 1000,
    cacheSize,
    toleranceSeconds,
    options: { ...options, audience, scopePrefix: scopePrefix || undefined },
    fetch: async (url) => {
      const issuer = names.find((name) => url.startsWith(name)) ?? '';
      const isMetadata = url.endsWith('/openid-configuration');
      return Response.json(isMetadata ? { issuer, jwks_uri: `${issuer}/keys` } : { keys: issuers[issuer] });
    },
  });
  target.guard.start();
  // Nothing falls due before the fetch has answered; a token with a kid that is not there waits for it.
  const header = { alg: options.algorithms[0], kid: 'never published' };
  for (const name of names) await target.show(mintToken(name, { header }));
  return target;
}

/** Holds an answer against the oracle's judgement of the same request. */
function hold(answer: Answer, { outcomes, scopes }: Judgement, path: string): void {
  const allowed: readonly string[] = outcomes.map((outcome) =>
    outcome === 'accepted' && path === SCOPED && !scopes.includes(SCOPE) ? 'Unauthorized' : outcome,
  );
  if (!allowed.includes(answer.code)) {
    throw new Error(`${path} answered ${answer.text}, where the contract has ${allowed.join(' or ')}`);
  }
}

/**
 * Shows a request on both paths to every target, and to the first once more, which may remember it by then; holds each answer against
 * the oracle and against the others. Returns the code of the scoped path's.
 */
async function holdEverywhere(targets: readonly Target[], authorization: string | null, judgement: Judgement) {
  let code = '';
  for (const path of [PRIVATE, SCOPED]) {
    const texts = new Set<string>();
    for (const target of [...targets, ...(path === PRIVATE ? targets.slice(0, 1) : [])]) {
      const answer = await readAnswer(await target.send(authorization, path), path === SCOPED);
      hold(answer, judgement, path);
      texts.add(answer.text);
      code = answer.code;
    }
    if (texts.size > 1) throw new Error(`One request, several answers: ${[...texts].join('\n')}`);
  }
  return code;
}

/**
 * Tries this many inputs, prints what became of them, so that a run can be repeated and shows that it was not empty, and returns how
 * often each code was answered.
 */
async function holds<Input>(
  name: string,
  inputs: fc.Arbitrary<Input>,
  numRuns: number,
  tryOne: (input: Input) => Promise<string>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const property = fc.asyncProperty(inputs, async (input) => {
    const code = await tryOne(input);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  });
  await fc.assert(property, { numRuns });
  console.log(`${name}: ${numRuns} inputs: ${[...counts].map(([code, count]) => `${code} ${count}`).join(', ')}`);
  return counts;
}

/** The tokens of plans are judged alike by a service that remembers them, one that does not, and the oracle. */
async function holdsPlans(name: string, here: World, inputs: fc.Arbitrary<Plan>, numRuns: number): Promise<void> {
  const targets = [await targetFor(here, 1000), await targetFor(here, 0)];
  const counts = await holds(name, inputs, numRuns, (plan) => {
    const authorization = `Bearer ${build(plan)}`;
    return holdEverywhere(targets, authorization, judge(authorization, here));
  });
  // A generator that never gets through, or never fails, would hold anything.
  const codes = ['Unauthorized', 'accepted', 'invalid_claims', 'invalid_header', 'token_expired'];
  expect([...counts.keys()].sort()).toEqual(codes);
  for (const target of targets) target.guard.stop();
}

setDefaultTimeout(propertyTimeoutMs);

describe('the service and an independent verifier agree', () => {
  for (const toleranceSeconds of [0, 1]) {
    const name = `mutated tokens, with a clock tolerance of ${toleranceSeconds} s`;
    test(`on ${name}`, () => holdsPlans(name, world(publishedKeys(), toleranceSeconds), plans, tokens / 2));
  }

  for (const [at, settings] of settingsOfTwo.entries()) {
    const name = `mutated tokens of two issuers, world ${at + 1}`;
    test(`on ${name}`, () => {
      const here = { ...world([]), issuers: publishedByTwo(), ...settings };
      return holdsPlans(name, here, plansOfTwo(here.algorithms), tokens / 10);
    });
  }

  test('on random Authorization headers', async () => {
    const here = world(publishedKeys());
    const targets = [await targetFor(here, 1000), await targetFor(here, 0)];
    const counts = await holds('Authorization headers', authorizations, tokens / 4, (authorization) =>
      holdEverywhere(targets, authorization, judge(authorization, here)),
    );
    expect(counts.get('accepted')).toBeGreaterThan(0);
    for (const target of targets) target.guard.stop();
  });

  test('on random key sets', async () => {
    const counts = await holds('key sets', keySets, tokens / 20, async ({ keys, plan }) => {
      const here = world(keys);
      const authorization = `Bearer ${build(plan)}`;
      const target = await targetFor(here, 10);
      const code = await holdEverywhere([target], authorization, judge(authorization, here));
      target.guard.stop();
      return code;
    });
    for (const code of ['Unauthorized', 'invalid_header', 'key_set_unavailable'])
      expect([...counts.keys()]).toContain(code);
  });
});
