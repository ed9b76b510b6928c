import { createGuardCore } from '../../src/auth/guard/core.ts';
import { guardOf } from '../../src/auth/guard/guard.ts';
import type { GuardOptions } from '../../src/auth/index.ts';
import { AUDIENCE } from '../support/mint.ts';
import type { Issuer, Sent } from './issuer.ts';
import type { World } from './world.ts';

/** A fetch of the keys of an issuer, with its metadata. */
export interface Attempt {
  readonly issuer: string;
  readonly startAt: number;
  /** The keys that arrived last. */
  sent: Sent | undefined;
  endAt: number | undefined;
  isGood: boolean;
}

/** A call of the function `issuer`. */
export interface Question {
  readonly issuer: string;
  readonly askedAt: number;
  readonly said: 'yes' | 'no' | 'nothing';
  endAt: number | undefined;
}

export interface Times {
  readonly jwksMaxAgeSeconds: number;
  readonly jwksMaxStaleSeconds: number;
  readonly jwksCooldownSeconds: number;
  readonly jwksTimeoutSeconds: number;
}

/** What the function `issuer` of the application responds at this time, and how long that takes. */
export type Directory = (iss: string) => { readonly said: Question['said']; readonly latencyMs: number };

const epochMs = 1_700_000_000_000;

export type Instance = ReturnType<typeof createInstance>;

/** Returns a process with a guard: its clock, which stops when the process does, and what it has fetched and asked. */
export function createInstance(
  world: World,
  issuers: readonly Issuer[],
  times: Times,
  random: (below: number) => number,
  directory?: Directory,
) {
  const startedAt = world.now();
  const attempts: Attempt[] = [];
  const questions: Question[] = [];
  const reloads: number[] = [];
  const timers: number[] = [];
  let pausedUntil = 0;
  let lastPause = Number.NEGATIVE_INFINITY;
  let isGone = false;
  let isSpinning = false;

  const clock = {
    now: world.now,
    setBacks: 0,
    schedule(callback: () => void, delayMs: number) {
      let cancel = () => {};
      const run = () => {
        // A timer that spins would never let time pass.
        isSpinning ||= (timers.at(-200) ?? Number.NEGATIVE_INFINITY) > world.now() - 1000;
        if (isGone || isSpinning) return;
        // A timer that falls due while the process is stopped runs after the requests that were waiting.
        if (world.now() < pausedUntil) cancel = world.schedule(run, pausedUntil - world.now() + 1);
        else {
          timers.push(world.now());
          callback();
        }
      };
      cancel = world.schedule(run, delayMs);
      return () => cancel();
    },
  };

  const bySignal = new WeakMap<AbortSignal, Attempt>();
  const fetch: GuardOptions['fetch'] = (url, init) => {
    const issuer = issuers.find(({ name }) => url.startsWith(`${name}/`));
    const signal = init.signal as AbortSignal;
    const attempt = bySignal.get(signal) ?? {
      issuer: issuer?.name ?? '',
      startAt: world.now(),
      sent: undefined,
      endAt: undefined,
      isGood: false,
    };
    if (!bySignal.has(signal)) attempts.push(attempt);
    bySignal.set(signal, attempt);
    if (!issuer) return Promise.reject(new TypeError(`unexpected request: ${url}`));
    return issuer.fetchFor((sent) => {
      attempt.sent = sent;
    })(url, init);
  };

  const ask = (iss: string) => {
    const { said, latencyMs } = (directory as Directory)(iss);
    const question: Question = { issuer: iss, askedAt: world.now(), said, endAt: undefined };
    questions.push(question);
    return new Promise<{ issuer: string } | undefined>((resolve, reject) => {
      world.schedule(() => {
        question.endAt = world.now();
        if (said === 'nothing') reject(new Error('down'));
        else resolve(said === 'yes' ? { issuer: iss } : undefined);
      }, latencyMs);
    });
  };

  const reasons = new WeakMap<object, string>();
  const core = createGuardCore(
    {
      issuer: directory ? ask : issuers.map(({ name }) => name),
      audience: AUDIENCE,
      algorithms: ['EdDSA'],
      fetch,
      onRejected: (request, reason) => reasons.set(request, reason),
      onKeySetEvent(event) {
        const ended = attempts.findLast(({ issuer }) => issuer === event.issuer);
        if (!ended || (event.type !== 'fetched' && event.type !== 'failed')) return;
        ended.endAt = world.now();
        ended.isGood = event.type === 'fetched';
      },
      ...times,
    },
    { clock, now: () => epochMs + world.now(), random: () => random(1_000_000) / 1_000_000 },
  );
  const guard = guardOf(core);
  core.start();

  return {
    ...{ startedAt, attempts, questions, reloads, core },
    /** The token is sent once the process runs. */
    async check(token: string): Promise<string> {
      if (world.now() < pausedUntil)
        await new Promise<void>((done) => void world.schedule(done, pausedUntil - world.now()));
      const request = new Request('https://api.example.test/', { headers: { authorization: `Bearer ${token}` } });
      const result = await guard.check(request);
      return result instanceof Response ? (reasons.get(request) ?? 'unknown') : 'accepted';
    },
    pause(ms: number): void {
      pausedUntil = world.now() + ms;
      lastPause = pausedUntil;
    },
    isPaused: () => world.now() < pausedUntil,
    isGone: () => isGone,
    isSpinning: () => isSpinning,
    /** Whether the process has run for so long without a break. */
    hasRunFor: (ms: number) => world.now() - startedAt >= ms && world.now() - lastPause >= ms,
    reload(): void {
      reloads.push(world.now());
      void core.reload();
    },
    end(): void {
      isGone = true;
      core.stop();
    },
  };
}
