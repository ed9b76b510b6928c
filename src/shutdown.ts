import { print } from './cli.ts';
import { escapeUnprintable } from './observe/escape.ts';
import type { Log } from './observe/log.ts';
import type { Service } from './service.ts';
import type { Settings } from './settings.ts';

type Server = Bun.Server<undefined>;

/** Replaces all listeners of an event of the process. There is no moment without one, so no signal is lost. */
export function replaceListeners(
  event: NodeJS.Signals | 'uncaughtException' | 'unhandledRejection',
  listener: (value: never) => void,
): void {
  const earlier = process.listeners(event as 'SIGTERM');
  process.on(event, listener as () => void);
  for (const one of earlier) process.off(event, one);
}

/** Logs an error that nothing handles and exits with 1. Under `bun --hot`, prints it, and the next save is another attempt. */
export function endOnFatalError(log: Log): void {
  const isHot = process.execArgv.includes('--hot');
  const end = (error: unknown) => {
    if (isHot) return print(2, `${Bun.inspect(error)}\nFix this error and save again.\n`);
    log.fatal({ err: error }, 'Fatal error');
    if (!log.isLevelEnabled('fatal')) print(2, escapeUnprintable(`Fatal error: ${error}\n`));
    void exit(1, log);
  };
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) replaceListeners(event, end);
}

/** Stops accepting connections, and resolves once requests in flight have a response. */
async function drain(servers: readonly Server[]): Promise<void> {
  const closed = Promise.all(servers.map((server) => server.stop()));
  // Bun would wait ten seconds for idle connections. One second is enough for requests that are on their way.
  const quiet = async () => {
    for (let quietMs = 0; quietMs < 1000; quietMs += 50) {
      await Bun.sleep(50);
      if (servers.some(({ pendingRequests }) => pendingRequests > 0)) quietMs = 0;
    }
  };
  await Promise.race([closed, quiet()]);
}

/** On a signal, `/readyz` returns 503 first. Then no connection is accepted, and requests in flight are finished. */
export function shutDownOnSignal(service: Service, servers: readonly Server[], settings: Settings, log: Log): void {
  let isShuttingDown = false;
  const shutDown = async (signal: string) => {
    if (isShuttingDown) process.exit(1);
    isShuttingDown = true;
    log.info({ signal }, 'Shutting down');
    service.announceShutdown();
    await Bun.sleep(settings.shutdownDelaySeconds * 1000);
    await Promise.race([drain(servers), Bun.sleep(settings.shutdownTimeoutSeconds * 1000)]);
    log.info('Stopped');
    await exit(0, log);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) replaceListeners(signal, shutDown);
}

/** An output that nothing reads must not keep the process alive. */
const maxFlushMs = 1000;

/** Exits once the last log lines are written. */
async function exit(status: number, log: Log): Promise<never> {
  await Promise.race([new Promise<void>((done) => log.flush(() => done())), Bun.sleep(maxFlushMs)]);
  process.exit(status);
}
