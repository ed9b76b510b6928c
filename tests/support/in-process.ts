import type { Fetch } from '../../src/auth/keys/fetch-json.ts';
import { createLog } from '../../src/observe/log.ts';
import { createService } from '../../src/service.ts';
import { readSettings } from '../../src/settings.ts';
import type { Environment } from './child-process.ts';
import type { Form } from './forms.ts';

/** Fetches from loopback only: no test resolves a name. */
const fetchLocally: Fetch = async (url, init) => {
  if (new URL(url).hostname !== '127.0.0.1') throw new TypeError(`No test contacts ${url}`);
  return fetch(url, init);
};

/** Returns the service with these settings, without a listener and without output. */
export function createSilentService(environment: Environment, fetch = fetchLocally) {
  const settings = readSettings(environment, false);
  if (settings.issuer === 'development') throw new TypeError('ISSUER and AUDIENCE are not set');
  const log = createLog('silent', { isTerminal: false, hasColour: false });
  return createService({ settings, options: settings.optionsAt(0), log, droppedLogLines: () => 0, fetch });
}

/** The service in this process: requests go into its fetch(). It also listens, for the tests that need a connection. */
export const inProcessForm: Form = {
  name: 'in-process',
  startTimeoutMs: 120_000,
  async start(environment) {
    const service = createSilentService(environment);
    service.start();
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: service.fetch });
    const origin = `http://127.0.0.1:${server.port}`;
    return {
      origin,
      fetch: async (path, init) => service.fetch(new Request(`${origin}${path}`, init)),
      output: () => '',
      async close() {
        service.stop();
        await server.stop(true);
        return 0;
      },
    };
  },
};
