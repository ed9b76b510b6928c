import { isIP } from 'node:net';
import { isatty } from 'node:tty';
import packageJson from '../package.json' with { type: 'json' };
import { fail, formatAddress, print } from './cli.ts';
import { renderBanner } from './dev/banner.ts';
import { keptOverReloads } from './dev/issuer.ts';
import { createResponses } from './http/responses.ts';
import { BoundedDestination } from './observe/destination.ts';
import { escapeUnprintable } from './observe/escape.ts';
import { createLog, type Log } from './observe/log.ts';
import { createService, type Service } from './service.ts';
import { type Settings, withoutSecrets } from './settings.ts';

type Server = Bun.Server<undefined>;
type ListenOptions = Pick<Settings, 'idleTimeoutSeconds' | 'reusePort'>;

/** Listens, and serves until a signal ends the process. */
export async function serve(settings: Settings, hasColour: boolean): Promise<void> {
  const destination = new BoundedDestination();
  // Not process.stdout.isTTY: reading it makes the pipe non-blocking for every process that shares it.
  const log = createLog(settings.logLevel, { isTerminal: isatty(1), hasColour }, destination);
  keptOverReloads.stop?.();
  endOnFatalError(log);

  const { host, port, metricsHost, metricsPort, idleTimeoutSeconds } = settings;
  const server = listen(log, 'PORT', host, port, settings);
  const only = { idleTimeoutSeconds, reusePort: false };
  const metricsServer =
    metricsPort === undefined ? undefined : listen(log, 'METRICS_PORT', metricsHost, metricsPort, only);
  for (const { message, ...warning } of settings.warnings) log.warn(warning, message);
  const options = settings.optionsAt(server.port ?? port);
  const { secrets } = keptOverReloads;
  const service = createService({ settings, options, log, droppedLogLines: destination.droppedLines, secrets });
  const { developmentIssuer: issuer } = service;
  if (issuer) {
    // Not after a reload, which keeps the secrets.
    if (!secrets)
      print(2, renderBanner(issuer, { hasDocumentation: settings.docs, hasColour: isatty(2) && hasColour }));
    keptOverReloads.secrets = issuer.secrets;
  }
  server.reload({ fetch: service.fetch });
  if (service.metrics) metricsServer?.reload({ fetch: service.metrics });
  keptOverReloads.stop = service.stop;
  const shutDown = createShutdown(service, metricsServer ? [server, metricsServer] : [server], settings, log);
  // A terminal that is closed sends SIGHUP.
  const hangUp = [0, 1, 2].some(isatty) ? shutDown : () => reloadKeys(service, log);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) replaceListeners(signal, shutDown);
  replaceListeners('SIGHUP', hangUp);
  service.start();
  log.debug(withoutSecrets(options, settings), 'Settings');
  const ports = { port: server.port, metricsPort: metricsServer?.port };
  const proxies = [...new Set(service.guard.state().issuers.flatMap(({ proxy }) => proxy ?? []))];
  const through = proxies.length > 0 ? { proxies } : {};
  log.info({ version: packageJson.version, ...ports, issuer: options.issuer, ...through }, 'Listening');
}

/** Fetches the keys of all issuers, because a key may be compromised, and logs the result. */
async function reloadKeys(service: Service, log: Log): Promise<void> {
  const { issuers } = await service.guard.reload();
  const isReloaded = issuers.every(({ lastFailure }) => lastFailure === undefined);
  if (isReloaded) log.info({ issuers }, 'Keys fetched on SIGHUP');
  else log.error({ issuers }, 'Cannot fetch all keys on SIGHUP: issuers with lastFailure keep their old keys');
}

/** Bun responds to a longer body with an empty 413. The service reads only the forms of its development issuer. */
const maxRequestBytes = 64 * 1024;

/** Why a listener cannot be created, and which setting to change. */
const listenFailures: Readonly<Record<string, (port: string, host: string) => string>> = {
  EACCES: (port) => `permission denied. Set ${port} to 1024 or higher`,
  EADDRINUSE: (port) => `the port is in use. Set ${port} to another port`,
  EADDRNOTAVAIL: (_, host) => `the address does not belong to this machine. Change ${host}`,
};

/**
 * Returns a listener.
 * @param id the setting that has the port, by which Bun finds the listener again after a reload
 */
function listen(log: Log, id: 'PORT' | 'METRICS_PORT', hostname: string, port: number, options: ListenOptions) {
  const { idleTimeoutSeconds: idleTimeout, reusePort } = options;
  try {
    return Bun.serve({
      ...{ id, hostname, port, reusePort, idleTimeout },
      development: false,
      maxRequestBodySize: maxRequestBytes,
      // Replaced below. The listener comes first, because the development issuer needs to know its port.
      fetch: () => new Response(null, { status: 503 }),
      error(error) {
        log.error({ err: error }, 'Cannot respond to a request');
        return createResponses().fail('internal_error');
      },
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const hostSetting = id === 'PORT' ? 'HOST' : 'METRICS_HOST';
    // For a name that cannot be resolved, Bun reports the code of an earlier system call.
    const unknown = isIP(hostname) === 0 ? `the host name cannot be resolved. Change ${hostSetting}` : `${error}`;
    return fail(
      `Cannot listen on ${formatAddress(hostname, port)}: ${listenFailures[code]?.(id, hostSetting) ?? unknown}`,
    );
  }
}

/** Replaces all listeners of an event of the process. There is no moment without one, so no signal is lost. */
function replaceListeners(
  event: NodeJS.Signals | 'uncaughtException' | 'unhandledRejection',
  listener: (value: never) => void,
): void {
  const earlier = process.listeners(event as 'SIGTERM');
  process.on(event, listener as () => void);
  for (const one of earlier) process.off(event, one);
}

/** Logs an unhandled error and exits with 1. Under `bun --hot`, only prints it: the next save tries again. */
function endOnFatalError(log: Log): void {
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

/** Returns the handler of signals that end the process: `/readyz` returns 503, then requests in flight are finished. */
function createShutdown(service: Service, servers: readonly Server[], settings: Settings, log: Log) {
  let isShuttingDown = false;
  return async (signal: string) => {
    if (isShuttingDown) process.exit(1);
    isShuttingDown = true;
    log.info({ signal }, 'Shutting down');
    service.announceShutdown();
    await Bun.sleep(settings.shutdownDelaySeconds * 1000);
    await Promise.race([drain(servers), Bun.sleep(settings.shutdownTimeoutSeconds * 1000)]);
    log.info('Stopped');
    await exit(0, log);
  };
}

/** An output that nothing reads must not keep the process alive. */
const maxFlushMs = 1000;

/** Exits once the last log lines are written. */
async function exit(status: number, log: Log): Promise<never> {
  await Promise.race([new Promise<void>((done) => log.flush(() => done())), Bun.sleep(maxFlushMs)]);
  process.exit(status);
}
