import type { AnyElysia } from 'elysia';
import { createApp, type Dependencies } from '../../src/app.ts';
import { createGuardCore } from '../../src/auth/guard/core.ts';
import { guardOf } from '../../src/auth/guard/guard.ts';
import type { Guard, GuardOptions } from '../../src/auth/index.ts';
import type { TimeAndRandom } from '../../src/auth/values/clock.ts';
import { formatRejection } from '../../src/errors.ts';
import { createCommonHeaders } from '../../src/http/responses.ts';
import { ISSUER } from './checked.ts';
import { AUDIENCE } from './mint.ts';

interface TestAppOptions extends Partial<Omit<Dependencies, 'guard' | 'options'>> {
  readonly options?: Partial<GuardOptions>;
  readonly environment?: Partial<TimeAndRandom>;
  /** Returns the routes that are added, those for which a token is required on an instance with the guard. */
  readonly extension?: (guard: Guard) => AnyElysia;
}

/**
 * Returns the application with its own guard, and a function that sends it requests. Only `options.fetch` can reach its
 * issuer.
 */
export function createTestApp({ options, environment, extension, ...dependencies }: TestAppOptions = {}) {
  const fetch = () => Promise.reject(new TypeError('unreachable'));
  const commonHeaders = createCommonHeaders();
  // Without a listener, a guard warns on the console.
  const onKeySetEvent = () => {};
  const format = { formatRejection, errorHeaders: commonHeaders };
  const given = { issuer: ISSUER, audience: AUDIENCE, fetch, ...format, onKeySetEvent, ...options };
  const core = createGuardCore(given, environment);
  const guard = guardOf(core);
  const app = createApp({
    guard,
    options: core.options,
    commonHeaders,
    readiness: () => 'ready',
    onInternalError(error) {
      throw error;
    },
    hasDocumentation: false,
    tokenEndpoint: async () => `${ISSUER}oauth/token`,
    ...dependencies,
  });
  if (extension) app.use(extension(guard));
  const get = async (path: string, init?: RequestInit) => app.fetch(new Request(`http://localhost${path}`, init));
  return { app, guard: core, get };
}
