import type { GuardCore } from '../../src/auth/guard/create-guard.ts';
import type { GuardOptions } from '../../src/auth/guard.ts';
import { createFrozenClock } from '../support/frozen-clock.ts';
import { createTestApp } from '../support/test-app.ts';

export const PRIVATE = '/api/private';
export const SCOPED = '/api/private-scoped';

/** The whole way from a request to its answer, wired as in the service, with its clocks in the test's hands. */
export interface Target {
  readonly guard: GuardCore;
  /** Requests a path with this Authorization value, or without one. */
  send(authorization: string | null, path?: string): Promise<Response>;
  /** Requests a path with this token. */
  show(token: string, path?: string): Promise<Response>;
}

export interface TargetOptions {
  readonly issuer: string | readonly string[];
  /** Tokens remembered; a thousand by default. */
  readonly cacheSize?: number;
  readonly toleranceSeconds?: number;
  readonly nowMs?: number;
  /** What else the guard is configured with. */
  readonly options?: Partial<GuardOptions>;
  /** Answers the key set's fetches in place of the network. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Returns a target that holds no keys until `guard.start()` or the first token that needs one. */
export function createTarget(options: TargetOptions): Target {
  const { issuer, cacheSize = 1000, toleranceSeconds = 0, nowMs = Date.now() } = options;
  const { app, guard } = createTestApp({
    options: {
      issuer,
      ...(typeof issuer === 'string' && { jwksUri: `${issuer}.well-known/jwks.json` }),
      fetch: options.fetch ?? fetch,
      ...options.options,
      jwksAllowHttp: true,
      clockToleranceSeconds: toleranceSeconds,
      tokenCacheSize: cacheSize,
      // Without a listener, an outage is printed.
      onKeySetEvent() {},
    },
    environment: { clock: createFrozenClock(), random: () => 0, now: () => nowMs },
  });

  const target: Target = {
    guard,
    send: async (authorization, path = PRIVATE) =>
      app.fetch(
        new Request(`http://service.example.test${path}`, { headers: authorization === null ? {} : { authorization } }),
      ),
    show: (token, path) => target.send(`Bearer ${token}`, path),
  };
  return target;
}
