import type { Fetch } from '../../src/auth/types.ts';
import { createLog } from '../../src/observe/log.ts';
import { createService } from '../../src/service.ts';
import { readSettings } from '../../src/settings.ts';
import { ISSUER } from './checked.ts';
import type { Environment } from './child-process.ts';
import type { Form } from './forms.ts';
import { AUDIENCE } from './mint.ts';
import { plainFormat } from './recorded-log.ts';

/** Fetches from loopback only: no test resolves a name. */
const fetchLocally: Fetch = async (url, init) => {
  if (new URL(url).hostname !== '127.0.0.1') throw new TypeError(`No test contacts ${url}`);
  return fetch(url, init);
};

const silent = createLog('silent', plainFormat);

/**
 * Returns the service with these settings, without a listener, and a function that sends it requests. By default it
 * logs nothing.
 */
export function createServiceInProcess(environment: Environment, fetch = fetchLocally, log = silent) {
  const settings = readSettings({ ISSUER, AUDIENCE, ...environment }, false);
  const options = settings.optionsAt(0);
  const service = createService({ settings, options, log, droppedLogLines: () => 0, fetch });
  const get = async (path: string, init?: RequestInit) => service.fetch(new Request(`http://localhost${path}`, init));
  return { ...service, get };
}

/** The service in this process: requests go into its fetch(). It also listens, for the tests that need a connection. */
export const inProcessForm: Form = {
  name: 'in-process',
  async start(environment) {
    const service = createServiceInProcess(environment);
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
