import { beforeAll, describe, expect, test } from 'bun:test';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { mean, probit, tTestTwoSample } from 'simple-statistics';
import { PRIVATE } from '../http/table/tokens.ts';
import { offline, tokenOf } from '../support/checked.ts';
import { base64url, bearer } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';

/*
 * Method. Two kinds of request that must take equally long are sent in pairs, in an order drawn by lot, thousands of times; the slowest
 * twentieth of each is left out and the means are compared by a t-test at 99.9 %. A leak is a difference that is significant,
 * larger than MIN_LEAK_US and found in each of ATTEMPTS measurements: this happens by chance less than once in a hundred million
 * runs, and a busy machine slows both kinds alike. The control leaks on purpose and must be found by the same method; one attempt
 * is enough, because noise can only hide it. What the method cannot see is a leak smaller than the half width it prints; over a
 * network, noise is far larger than that.
 */
const PAIRS = 4000;
const WARM_UP = PAIRS / 10;
const ATTEMPTS = 3;
const MIN_LEAK_US = 3;
/** Idle steps for each correct byte in the control, so its leak is about ten microseconds in all. */
const CONTROL_STEPS = 40;
const POOL = 64;
/** Two-sided 99.9 % of the normal distribution, which t is indistinguishable from at thousands of samples. */
const MIN_T = probit(0.9995);

type Action = (at: number) => unknown;

/** A garbage collection makes a few samples slower. The same share is removed on both sides, so a leak stays. */
const withoutOutliers = (samples: readonly number[]) =>
  samples.toSorted((a, b) => a - b).slice(0, Math.ceil(samples.length * 0.95));

/** Times two actions in turn, and returns whether the second is found to take longer, or shorter. */
async function leaks(name: string, actions: readonly [Action, Action]): Promise<boolean> {
  const samples: [number[], number[]] = [[], []];
  for (let at = -WARM_UP; at < PAIRS; at += 1)
    for (const which of Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
      const startedAt = Bun.nanoseconds();
      await actions[which](at + WARM_UP);
      if (at >= 0) samples[which].push((Bun.nanoseconds() - startedAt) / 1000);
    }

  const [first, second] = samples.map(withoutOutliers) as [number[], number[]];
  const differenceUs = mean(second) - mean(first);
  const t = tTestTwoSample(second, first) ?? 0;
  const halfWidthUs = Math.abs((MIN_T * differenceUs) / t);
  console.log(
    `${name}: ${differenceUs.toFixed(2)} us, +- ${halfWidthUs.toFixed(2)} us at 99.9 %, t ${t.toFixed(1)} (${PAIRS} pairs)`,
  );
  return Math.abs(t) > MIN_T && Math.abs(differenceUs) > MIN_LEAK_US;
}

/** Works as long as a comparison that stops at the first wrong byte, after this many correct ones. */
function compareNaively(rightBytes: number): number {
  let idle = 1;
  for (let step = 0; step < rightBytes * CONTROL_STEPS; step += 1) idle = Math.imul(idle, 31) + step;
  return idle;
}

describe('the time that a response takes', () => {
  const { get } = createTestApp({ options: offline() });
  const good = Array.from({ length: POOL }, (_, at) => tokenOf({ claims: { jti: String(at).padStart(4) } }));
  const show = (token = '') => get(PRIVATE, { headers: bearer(token) });
  const showInTurn = (spoil: (token: string) => string, before?: () => number): Action => {
    const pool = good.map(spoil);
    return (at) => {
      before?.();
      return show(pool[at % POOL]);
    };
  };

  /** Sends tokens whose signatures begin with this many correct bytes. */
  const wrongAt = (byte: number, before?: () => number) =>
    showInTurn((token) => {
      const [header, payload, signature = ''] = token.split('.');
      const bytes = Buffer.from(signature, 'base64url');
      bytes.writeUInt8(bytes.readUInt8(byte) ^ 1, byte);
      return `${header}.${payload}.${base64url(bytes)}`;
    }, before);
  const wrongAtInControl = (byte: number) => wrongAt(byte, () => compareNaively(byte));
  const cut = (letters: number) => showInTurn((token) => token.slice(0, -letters) + 'A'.repeat(letters));

  const secret = '01'.repeat(16);
  const clients = [{ id: 'reader', secret }];
  const issuer = createDevelopmentIssuer({ issuer: 'http://127.0.0.1/', audience: 'a', clients });
  const guess = (client_secret: string) => async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'reader', client_secret });
    const { status } = await issuer.fetch(new Request('http://127.0.0.1/oauth/token', { method: 'POST', body }));
    if (status !== 401) throw new Error(`Status ${status}`);
  };
  const guesses = [guess(`1${secret.slice(1)}`), guess(`${secret.slice(0, -1)}0`)] as const;

  // The valid tokens are cached. Neither the cache nor the key may reveal how close a guess is.
  beforeAll(async () => {
    for (const token of good) expect((await show(token)).status).toBe(200);
  });

  test.each([
    ['gives a naive comparison of signatures away (control)', true, wrongAtInControl(1), wrongAtInControl(255)],
    ['does not depend on how many bytes of a wrong signature match', false, wrongAt(1), wrongAt(255)],
    ['does not depend on how long a remembered token a guess begins with', false, cut(340), cut(4)],
    ['does not depend on how many bytes of a wrong client secret match', false, ...guesses],
  ] as const)('%s', async (name, isLeaky, first, second) => {
    let found = !isLeaky;
    for (let attempt = 0; attempt < ATTEMPTS && found !== isLeaky; attempt += 1)
      found = await leaks(name, [first, second]);
    expect(found).toBe(isLeaky);
  });
});
