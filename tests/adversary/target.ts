import type { GuardCore } from '../../src/auth/guard/create-guard.ts';
import type { GuardOptions } from '../../src/auth/guard.ts';
import type { Claims } from '../../src/auth/token/claims.ts';
import type { VerifierState } from '../../src/auth/token/verifier.ts';
import { createFrozenClock, type FrozenClock } from '../support/frozen-clock.ts';
import { createTestApp } from '../support/test-app.ts';

export const PRIVATE = '/api/private';
export const SCOPED = '/api/private-scoped';

/** The whole way from a request to its answer, wired as in the service, with its clocks in the test's hands. */
export interface Target {
  /** Wall-clock time in milliseconds. */
  nowMs: number;
  /** Time of the key set: its age, cooldown and time-outs. */
  readonly clock: FrozenClock;
  readonly guard: GuardCore;
  /** Requests a path with this Authorization value, or without one. */
  send(authorization: string | null, path?: string): Promise<Response>;
  /** Requests a path with this token. */
  show(token: string, path?: string): Promise<Response>;
  cache(): VerifierState;
  /** Whose claims the last accepted request was given. */
  lastClaims(): Claims | undefined;
}

export interface TargetOptions {
  readonly issuer: string | readonly string[];
  /** Where the keys are; `${issuer}.well-known/jwks.json` by default. */
  readonly jwksUri?: string;
  /** Tokens remembered; a thousand by default. */
  readonly cacheSize?: number;
  readonly toleranceSeconds?: number;
  readonly nowMs?: number;
  readonly maxStaleMs?: number;
  /** What else the guard is configured with. */
  readonly options?: Partial<GuardOptions>;
  /** Answers the key set's fetches in place of the network. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export const KEY_SET_TIMES = { maxAgeMs: 600_000, maxStaleMs: 86_400_000, cooldownMs: 30_000, timeoutMs: 5_000 };

/** Returns a target that holds no keys until `guard.start()` or the first token that needs one. */
export function createTarget(options: TargetOptions): Target {
  const { issuer, cacheSize = 1000, toleranceSeconds = 0, nowMs = Date.now() } = options;
  const clock = createFrozenClock();
  let lastClaims: Claims | undefined;
  const { app, guard } = createTestApp({
    options: {
      issuer,
      ...(typeof issuer === 'string' && { jwksUri: options.jwksUri ?? `${issuer}.well-known/jwks.json` }),
      fetch: options.fetch ?? fetch,
      ...options.options,
      jwksAllowHttp: true,
      clockToleranceSeconds: toleranceSeconds,
      tokenCacheSize: cacheSize,
      jwksMaxStaleSeconds: (options.maxStaleMs ?? KEY_SET_TIMES.maxStaleMs) / 1000,
      onAccepted(_, claims) {
        lastClaims = claims;
      },
    },
    environment: { clock, random: () => 0, now: () => target.nowMs },
  });

  const target: Target = {
    nowMs,
    clock,
    guard,
    send: async (authorization, path = PRIVATE) =>
      app.fetch(
        new Request(`http://service.example.test${path}`, { headers: authorization === null ? {} : { authorization } }),
      ),
    show: (token, path) => target.send(`Bearer ${token}`, path),
    cache: () => guard.state(),
    lastClaims: () => lastClaims,
  };
  return target;
}
