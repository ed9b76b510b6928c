import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { timingSafeEqual } from 'node:crypto';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { mean, probit, tTestTwoSample } from 'simple-statistics';
import { ISSUER, tokenOf } from '../support/checked.ts';
import { base64url, signingKeys } from '../support/mint.ts';
import { createTarget } from './target.ts';

setDefaultTimeout(120_000);

/*
 * Method. Two kinds of request that must take equally long are sent in pairs, in an order drawn by lot, thousands of times; the slowest
 * twentieth of each is left out and the means are compared by a t-test at 99.9 %. A leak is a difference that is significant, larger
 * than MIN_LEAK_US and there again, in the same direction, in each of ATTEMPTS measurements: chance alone does that less than once in a
 * billion runs, and a busy machine slows both kinds alike. The controls leak on purpose and must be found by the same method.
 * What it cannot see is a leak smaller than the half width it prints; over a network, noise is far larger than that.
 */
const PAIRS = 4000;
const WARM_UP = PAIRS / 10;
const ATTEMPTS = 3;
const MIN_LEAK_US = 3;
/** Idle steps for each right byte in the control, which make its leak some ten microseconds in all. */
const CONTROL_STEPS = 40;
/** How often a comparison is timed at once where nothing else is timed with it. */
const COMPARISONS = 50;
const POOL = 64;
/** Two-sided 99.9 % of the normal distribution, which t is indistinguishable from at thousands of samples. */
const MIN_T = probit(0.9995);

type Action = (at: number) => unknown;

/**
 * A garbage collection or another process makes a few samples a thousand times slower, which says nothing of the code. The same share
 * is taken from both sides, so that a leak is not taken away with it.
 */
const withoutOutliers = (samples: readonly number[]) =>
  samples.toSorted((a, b) => a - b).slice(0, Math.ceil(samples.length * 0.95));

/** Times two actions in turn, and returns in which direction a leak shows: 0 for none. */
async function measure(name: string, actions: readonly [Action, Action]): Promise<number> {
  const samples: [number[], number[]] = [[], []];
  for (let at = -WARM_UP; at < PAIRS; at += 1) {
    for (const which of Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      const startedAt = Bun.nanoseconds();
      await actions[which](at + WARM_UP);
      if (at >= 0) samples[which].push((Bun.nanoseconds() - startedAt) / 1000);
    }
  }
  const [first, second] = samples.map(withoutOutliers) as [number[], number[]];
  const differenceUs = mean(second) - mean(first);
  const t = tTestTwoSample(second, first) ?? 0;
  const halfWidthUs = Math.abs((MIN_T * differenceUs) / t);
  console.log(
    `${name}: ${differenceUs.toFixed(2)} us, +- ${halfWidthUs.toFixed(2)} us at 99.9 %, t ${t.toFixed(1)} (${PAIRS} pairs)`,
  );
  return Math.abs(t) > MIN_T && Math.abs(differenceUs) > MIN_LEAK_US ? Math.sign(differenceUs) : 0;
}

/** Fails when every attempt finds a leak, and each in the same direction. */
async function expectNoLeak(name: string, ...actions: readonly [Action, Action]): Promise<void> {
  const directions: number[] = [];
  while (directions.length < ATTEMPTS && !directions.includes(0)) directions.push(await measure(name, actions));
  expect(Math.abs(directions.reduce((sum, direction) => sum + direction))).toBeLessThan(ATTEMPTS);
}

/** Fails when no attempt finds the leak that is there: one is enough, because noise can only hide it. */
async function expectLeak(name: string, ...actions: readonly [Action, Action]): Promise<void> {
  let found = 0;
  for (let attempt = 0; attempt < ATTEMPTS && found === 0; attempt += 1) found = await measure(name, actions);
  expect(found).toBe(1);
}

/** Stops at the first wrong byte, as a naive comparison does. */
function leakyEquals(a: Uint8Array, b: Uint8Array, stepsPerByte = 0): boolean {
  let idle = 1;
  for (let at = 0; at < a.length; at += 1) {
    if (a[at] !== b[at]) return false;
    for (let step = 0; step < stepsPerByte; step += 1) idle = Math.imul(idle, 31) + step;
  }
  return idle !== 0;
}

/** Returns the token with a signature that is wrong at this byte, and both signatures. */
function spoil(token: string, at: number) {
  const [header, payload, signature = ''] = token.split('.');
  const right = Buffer.from(signature, 'base64url');
  const shown = Buffer.from(right);
  shown.writeUInt8(shown.readUInt8(at) ^ 1, at);
  return { token: `${header}.${payload}.${base64url(shown)}`, right, shown };
}

/** Does the same with each of these in turn. */
const inTurn =
  <Item>(pool: readonly Item[], action: (item: Item) => unknown): Action =>
  (at) =>
    pool.slice(at % pool.length, (at % pool.length) + 1).map(action)[0];

describe('the time that an answer takes', () => {
  const target = createTarget({ [ISSUER]: signingKeys() });
  const show = (token: string) => target.send(`Bearer ${token}`);
  const good = Array.from({ length: POOL }, (_, at) => tokenOf({ claims: { jti: String(at).padStart(4) } }));
  const wrongFromStart = good.map((token) => spoil(token, 1));
  const wrongAtEnd = good.map((token) => spoil(token, 255));

  // The valid tokens are cached. Neither the cache nor the key may reveal how close a guess is.
  beforeAll(async () => {
    for (const token of good) expect((await show(token)).status).toBe(200);
  });
  afterAll(() => target.guard.stop());

  test('gives a comparison away that stops at the first wrong byte (control)', async () => {
    const leak = (pool: typeof wrongAtEnd) =>
      inTurn(pool, ({ token, right, shown }) => {
        leakyEquals(right, shown, CONTROL_STEPS);
        return show(token);
      });
    await expectLeak('control, whole request', leak(wrongFromStart), leak(wrongAtEnd));
  });

  test('does not depend on how many bytes of a wrong signature match, with the valid token in the cache', async () => {
    const showAll = (pool: typeof wrongAtEnd) => inTurn(pool, ({ token }) => show(token));
    await expectNoLeak('wrong signature', showAll(wrongFromStart), showAll(wrongAtEnd));
  });

  test('does not depend on how long a remembered token a guess begins with', async () => {
    const cut = (letters: number) =>
      inTurn(
        good.map((token) => token.slice(0, -letters) + 'A'.repeat(letters)),
        show,
      );
    await expectNoLeak('guessed token', cut(340), cut(4));
  });

  test('gives a plain comparison of secrets away, and timingSafeEqual does not (control)', async () => {
    const secret = Buffer.from('0123456789abcdef'.repeat(16));
    const compareOften = (equals: (a: Uint8Array, b: Uint8Array) => boolean, guess: Uint8Array) => () => {
      for (let time = 0; time < COMPARISONS; time += 1) equals(secret, guess);
    };
    const [farOff, near] = [Buffer.from(secret).fill(0, 0, 1), Buffer.from(secret).fill(0, 255)];
    await expectLeak('control, comparison', compareOften(leakyEquals, farOff), compareOften(leakyEquals, near));
    await expectNoLeak('timingSafeEqual', compareOften(timingSafeEqual, farOff), compareOften(timingSafeEqual, near));
  });

  test('does not depend on how many bytes of a wrong client secret match', async () => {
    const right = '01'.repeat(16);
    const clients = [{ id: 'reader', secret: right }];
    const issuer = createDevelopmentIssuer({ issuer: 'http://127.0.0.1/', audience: 'a', clients });
    const guess = (secret: string) => async () => {
      const grant = { grant_type: 'client_credentials', client_id: 'reader', client_secret: secret };
      const request = new Request('http://127.0.0.1/oauth/token', { method: 'POST', body: new URLSearchParams(grant) });
      const { status } = await issuer.fetch(request);
      if (status !== 401) throw new Error(`Answered ${status}`);
    };
    await expectNoLeak('client secret', guess(`1${right.slice(1)}`), guess(`${right.slice(0, -1)}0`));
  });
});
