import { createLog } from '../../src/observe/log.ts';
import { createService } from '../../src/service.ts';
import { readSettings } from '../../src/settings.ts';
import type { Form } from './forms.ts';

/**
 * The service without a process of its own: requests go straight into its fetch(). It listens as well, for the tests that need a
 * connection.
 */
export const inProcessForm: Form = {
  name: 'in-process',
  startTimeoutMs: 20_000,
  async start(environment) {
    const settings = readSettings(environment, false);
    if (settings.isEmbedded) throw new TypeError('ISSUER and AUDIENCE are not set');
    const log = createLog('silent', { isTerminal: false, hasColour: false });
    const service = createService({ settings, log, droppedLogLines: () => 0 });
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
