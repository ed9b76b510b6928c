import { createApp, type Dependencies } from '../../src/app.ts';
import { createGuard, type GuardEnvironment } from '../../src/auth/elysia/resource-server.ts';
import type { ResourceServerOptions } from '../../src/auth/options.ts';
import { createCommonHeaders } from '../../src/http/answers.ts';
import { AUDIENCE } from './mint.ts';

export interface TestAppOptions extends Partial<Omit<Dependencies, 'guard' | 'discovery'>> {
  /** Of the guard. */
  readonly options?: Partial<ResourceServerOptions>;
  readonly environment?: GuardEnvironment;
  readonly discovery?: Partial<Dependencies['discovery']>;
}

/** Returns the application with its own guard. The issuer is unreachable unless `environment.fetch` answers for it. */
export function createTestApp({ options, environment, discovery, ...dependencies }: TestAppOptions = {}) {
  const issuer = 'https://issuer.example.test/';
  const { commonHeaders = createCommonHeaders() } = dependencies;
  const unreachable = () => Promise.reject(new TypeError('unreachable'));
  const publicUrl = discovery?.publicUrl;
  const guard = createGuard(
    { issuer, audience: AUDIENCE, publicUrl, ...options },
    { fetch: unreachable, responseHeaders: commonHeaders, ...environment },
  );
  const app = createApp({
    guard: guard.plugin,
    commonHeaders,
    readiness: () => 'ready',
    onInternalError(error) {
      throw error;
    },
    discovery: {
      issuer: [issuer],
      audience: [AUDIENCE],
      publicUrl: undefined,
      hasDocumentation: false,
      tokenEndpoint: async () => `${issuer}oauth/token`,
      ...discovery,
    },
    ...dependencies,
  });
  return { app, guard };
}
