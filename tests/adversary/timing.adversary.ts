import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { timingSafeEqual } from 'node:crypto';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { mean, probit, sampleVariance } from 'simple-statistics';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { base64url, mintToken, SIGNING_KID } from '../support/mint.ts';
import { createTarget, type Target } from './target.ts';

// The server takes up to 12 seconds to notice a connection that came and went without a word, and stopping waits for it.
setDefaultTimeout(120_000);

/*
 * Method. Two kinds of request that must take equally long are sent in pairs, in an order drawn by lot, thousands of times; the slowest
 * twentieth of each is left out and the means are compared by Welch's t-test at 99.9 %. A leak is a difference that is significant,
 * larger than MIN_LEAK_US and there again, in the same direction, in each of ATTEMPTS measurements: chance alone does that less than
 * once in a billion runs, and a busy machine slows both kinds alike. The controls leak on purpose and must be found by the same method.
 * What it cannot see is a leak smaller than the half width it prints; over a network, noise is far larger than that.
 */
const PAIRS = 4000;
const ATTEMPTS = 3;
const MIN_LEAK_US = 3;
/** Idle steps for each right byte in the control, which make its leak some ten microseconds in all. */
const CONTROL_STEPS = 40;
/** How often a comparison is timed at once where nothing else is timed with it. */
const COMPARISONS = 50;
const POOL = 64;

/** Two samples compared: how far their means are apart, and how sure that is. */
interface Comparison {
  /** Mean of the second less mean of the first, in microseconds. */
  readonly differenceUs: number;
  /** Half the width of the 99.9 % confidence interval of that difference. */
  readonly halfWidthUs: number;
  /** Welch's t. */
  readonly t: number;
}

/** Two-sided 99.9 % of the normal distribution, which Welch's t is indistinguishable from at thousands of samples. */
const Z_99_9 = probit(0.9995);

/**
 * Returns the samples less their slowest twentieth: a garbage collection or another process makes a few samples a thousand times
 * slower, which says nothing of the code. The same share is taken from both sides, so that a leak is not taken away with it.
 */
function withoutOutliers(samples: readonly number[]): number[] {
  return samples.toSorted((a, b) => a - b).slice(0, Math.ceil(samples.length * 0.95));
}

/** Compares two samples of times in microseconds by Welch's t-test, after the slowest twentieth of each is left out. */
function compare(first: readonly number[], second: readonly number[]): Comparison {
  const [a, b] = [withoutOutliers(first), withoutOutliers(second)];
  const error = Math.sqrt(sampleVariance(a) / a.length + sampleVariance(b) / b.length);
  const differenceUs = mean(b) - mean(a);
  return { differenceUs, halfWidthUs: Z_99_9 * error, t: differenceUs / error };
}

/**
 * Times two actions in turn, the order within each pair drawn by lot, so that whatever slows the machine slows both alike; the first
 * tenth only warms up. Returns microseconds.
 */
async function interleave(
  pairs: number,
  first: (at: number) => unknown,
  second: (at: number) => unknown,
): Promise<readonly [readonly number[], readonly number[]]> {
  const samples: [number[], number[]] = [[], []];
  const warmUp = Math.ceil(pairs / 10);
  for (let at = -warmUp; at < pairs; at += 1) {
    const order = Math.random() < 0.5 ? [0, 1] : [1, 0];
    for (const which of order) {
      const startedAt = Bun.nanoseconds();
      await (which === 0 ? first : second)(at + warmUp);
      const tookUs = (Bun.nanoseconds() - startedAt) / 1000;
      if (at >= 0) samples[which === 0 ? 0 : 1].push(tookUs);
    }
  }
  return samples;
}

const isLeak = ({ differenceUs, halfWidthUs }: Comparison) =>
  Math.abs(differenceUs) > halfWidthUs && Math.abs(differenceUs) > MIN_LEAK_US;

type Action = (at: number) => unknown;

/** Returns in which direction a leak shows, once: 0 for none. */
async function measure(name: string, first: Action, second: Action): Promise<number> {
  const comparison = compare(...(await interleave(PAIRS, first, second)));
  const { differenceUs, halfWidthUs, t } = comparison;
  console.log(
    `${name}: ${differenceUs.toFixed(2)} us, +- ${halfWidthUs.toFixed(2)} us at 99.9 %, t ${t.toFixed(1)} (${PAIRS} pairs)`,
  );
  return isLeak(comparison) ? Math.sign(differenceUs) : 0;
}

/** Fails when every attempt finds a leak, and each in the same direction. */
async function expectNoLeak(name: string, first: Action, second: Action): Promise<void> {
  const directions: number[] = [];
  while (directions.length < ATTEMPTS && !directions.includes(0)) directions.push(await measure(name, first, second));
  expect(Math.abs(directions.reduce((sum, direction) => sum + direction))).toBeLessThan(ATTEMPTS);
}

/** Fails when no attempt finds the leak that is there: one is enough, because noise can only hide it. */
async function expectLeak(name: string, first: Action, second: Action): Promise<void> {
  let found = 0;
  for (let attempt = 0; attempt < ATTEMPTS && found === 0; attempt += 1) found = await measure(name, first, second);
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

/** A token whose signature is wrong from this byte on. */
interface WrongToken {
  readonly token: string;
  readonly right: Uint8Array;
  readonly shown: Uint8Array;
}

describe('the time that an answer takes', () => {
  let issuer: Issuer;
  let target: Target;
  let wrongFromStart: readonly WrongToken[];
  let wrongAtEnd: readonly WrongToken[];

  const pick = <Item>(pool: readonly Item[], at: number): Item => {
    const item = pool[at % pool.length];
    if (item === undefined) throw new TypeError('The pool is empty');
    return item;
  };

  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    target = createTarget({ issuer: issuer.url });
    const spoil = (token: string, at: number): WrongToken => {
      const [header, payload, signature = ''] = token.split('.');
      const right = Buffer.from(signature, 'base64url');
      const shown = Buffer.from(right);
      shown.writeUInt8(shown.readUInt8(at) ^ 1, at);
      return { token: `${header}.${payload}.${base64url(shown)}`, right, shown };
    };
    const good = Array.from({ length: POOL }, (_, at) =>
      mintToken(issuer.url, { claims: { jti: String(at).padStart(4) } }),
    );
    // The valid tokens are cached. Neither the cache nor the key may reveal how close a guess is.
    for (const token of good) expect((await target.show(token)).status).toBe(200);
    wrongFromStart = good.map((token) => spoil(token, 1));
    wrongAtEnd = good.map((token) => spoil(token, 255));
  });
  afterAll(async () => {
    target.guard.stop();
    await issuer.close();
  });

  test('gives a comparison away that stops at the first wrong byte (control)', async () => {
    const leak = (pool: readonly WrongToken[]) => async (at: number) => {
      const { token, right, shown } = pick(pool, at);
      leakyEquals(right, shown, CONTROL_STEPS);
      return target.show(token);
    };
    await expectLeak('control, whole request', leak(wrongFromStart), leak(wrongAtEnd));
  });

  test('does not depend on how many bytes of a wrong signature match, with the valid token in the cache', async () => {
    const show = (pool: readonly WrongToken[]) => (at: number) => target.show(pick(pool, at).token);
    await expectNoLeak('wrong signature', show(wrongFromStart), show(wrongAtEnd));
  });

  test('does not depend on how long a remembered token a guess begins with', async () => {
    const cut = (letters: number) => {
      const guesses = wrongAtEnd.map(({ token }) => token.slice(0, -letters) + 'A'.repeat(letters));
      return (at: number) => target.show(pick(guesses, at));
    };
    await expectNoLeak('guessed token', cut(340), cut(4));
  });

  describe("at the embedded issuer's token endpoint", () => {
    const secret = Buffer.from('0123456789abcdef'.repeat(16));
    const [farOff, near] = [Buffer.from(secret).fill(0, 0, 1), Buffer.from(secret).fill(0, 255)];
    const compareOften = (equals: (a: Uint8Array, b: Uint8Array) => boolean, guess: Uint8Array) => () => {
      for (let time = 0; time < COMPARISONS; time += 1) equals(secret, guess);
    };

    test('gives a plain comparison of secrets away, and timingSafeEqual does not (control)', async () => {
      await expectLeak('control, comparison', compareOften(leakyEquals, farOff), compareOften(leakyEquals, near));
      await expectNoLeak('timingSafeEqual', compareOften(timingSafeEqual, farOff), compareOften(timingSafeEqual, near));
    });

    test('does not depend on how many bytes of a wrong client secret match', async () => {
      const right = '0123456789abcdef'.repeat(2);
      const issuer = createDevelopmentIssuer({
        issuer: 'http://127.0.0.1/',
        audience: 'a',
        clients: [{ id: 'reader', secret: right }],
      });
      const guess = (clientSecret: string) => async () => {
        const body = new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: 'reader',
          client_secret: clientSecret,
        });
        const answer = await issuer.fetch(new Request('http://127.0.0.1/oauth/token', { method: 'POST', body }));
        if (answer.status !== 401) throw new Error(`Answered ${answer.status}`);
      };
      const other = (letter: string | undefined) => (letter === '0' ? '1' : '0');
      const [wrongAtOnce, wrongAtLast] = [other(right[0]) + right.slice(1), right.slice(0, -1) + other(right.at(-1))];
      await expectNoLeak('client secret', guess(wrongAtOnce), guess(wrongAtLast));
    });
  });
});
