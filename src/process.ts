import { isIP } from 'node:net';
import { isatty } from 'node:tty';
import type { CheckedOptions } from 'protected-api/guard';
import packageJson from '../package.json' with { type: 'json' };
import { fail, print } from './cli.ts';
import { renderBanner } from './dev/banner.ts';
import { createEmbeddedIssuer, createIssuerSecrets } from './dev/issuer.ts';
import { keptOverReloads } from './dev/reload.ts';
import { internalError } from './http/answers.ts';
import { createDestination } from './observe/destination.ts';
import { createLog, type Log } from './observe/log.ts';
import { createService, type Service } from './service.ts';
import { localOrigin, type Settings } from './settings.ts';

/** Listens, and serves until a signal ends the process. */
export async function serve(settings: Settings, hasColour: boolean): Promise<void> {
  const destination = createDestination();
  // Not process.stdout.isTTY: reading it makes the pipe non-blocking for every process that shares it.
  const log = createLog(settings.logLevel, { isTerminal: isatty(1), hasColour }, destination);
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'Fatal error');
    void exit(1, log);
  };
  keptOverReloads().stop?.();
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);

  const { host: hostname, port, metricsHost, metricsPort, reusePort } = settings;
  const server = listen(log, { id: 'api', hostname, port, reusePort });
  const metricsServer =
    metricsPort === undefined ? undefined : listen(log, { id: 'metrics', hostname: metricsHost, port: metricsPort });
  for (const { message, ...warning } of settings.warnings) log.warn(warning, message);
  const options = settings.optionsAt(server.port ?? port);
  const service = createService({
    settings,
    options,
    log,
    droppedLogLines: destination.droppedLines,
    ...(settings.issuer === 'development' && {
      embed: createIssuer(options, settings.docs, isatty(2) && hasColour),
    }),
  });
  server.reload({ fetch: service.fetch });
  if (service.metrics) metricsServer?.reload({ fetch: service.metrics.fetch });
  keptOverReloads().stop = () => {
    service.stop();
    for (const event of ['uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT'])
      process.removeAllListeners(event);
  };
  shutDownOnSignal(service, metricsServer ? [server, metricsServer] : [server], settings, log);
  service.start();
  log.debug(withoutSecrets(options, settings), 'Settings');
  const ports = { port: server.port, metricsPort: metricsServer?.port };
  log.info({ version: packageJson.version, ...ports, issuer: options.issuer }, 'Listening');
}

/** The query of jwksUri and the credentials of redisUrl can be secret. */
function withoutSecrets(options: CheckedOptions, { warnings, issuer, redisUrl, ...settings }: Settings): object {
  return {
    ...options,
    ...settings,
    jwksUri: options.jwksUri?.replace(/\?.*/, ''),
    redisUrl: redisUrl?.replace(/\/\/.*@/s, '//***@').replace(/\?.*/, ''),
  };
}

const listenFailures: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

interface ListenOptions {
  /** By which Bun finds the listener again after a reload. */
  readonly id: string;
  readonly hostname: string;
  readonly port: number;
  readonly reusePort?: boolean;
}

function listen(log: Log, options: ListenOptions) {
  const { hostname, port } = options;
  try {
    return Bun.serve({
      reusePort: false,
      ...options,
      development: false,
      // Longer than the 60 seconds for which load balancers keep an idle connection, and than a fetch of the key set.
      idleTimeout: 75,
      // The application answers large bodies itself, without reading them. Bun's own 413 has no body and no CORS headers.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      // Replaced below. The listener comes first, because the development issuer needs to know its port.
      fetch: () => new Response(null, { status: 503 }),
      error(error) {
        log.error({ err: error }, 'Cannot answer a request');
        return internalError();
      },
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // For a name that cannot be resolved, Bun's code is that of an earlier system call.
    const reason = listenFailures[code] ?? (isIP(hostname) === 0 ? 'the host is not known' : error);
    return fail(`Cannot listen on ${hostname}:${port}: ${reason}`);
  }
}

type Server = ReturnType<typeof listen>;

/** Creates the development issuer, and prints how to use it. */
function createIssuer({ publicUrl: origin = '' }: CheckedOptions, hasDocumentation: boolean, hasColour: boolean) {
  const kept = keptOverReloads();
  kept.secrets ??= createIssuerSecrets();
  const { secrets } = kept;
  if (!kept.hasBanner) print(2, renderBanner({ origin, audience: origin, ...secrets, hasDocumentation, hasColour }));
  kept.hasBanner = true;
  return (scopes: () => readonly string[]) =>
    createEmbeddedIssuer({ issuer: `${origin}/`, audience: origin, secrets, scopes });
}

/** Returns whether an instance on this machine answers. */
export async function isLive(host: string, port: number): Promise<boolean> {
  const url = `${localOrigin(host, port)}/livez`;
  try {
    // A proxy named in the environment cannot reach this process.
    const response = await fetch(url, { proxy: false, redirect: 'manual', signal: AbortSignal.timeout(2000) });
    return response.status === 200;
  } catch {
    return false;
  }
}

/** Stops accepting connections, and resolves once requests in flight are answered. */
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

/** On a signal, `/readyz` answers with 503 first. Then no connection is accepted, and requests in flight are finished. */
function shutDownOnSignal(service: Service, servers: readonly Server[], settings: Settings, log: Log): void {
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
  process.on('SIGTERM', shutDown);
  process.on('SIGINT', shutDown);
}

/** An output that nothing reads must not keep the process alive. */
const maxFlushMs = 1000;

/** Exits once the last log lines are written. */
async function exit(status: number, log: Log): Promise<never> {
  await Promise.race([new Promise<void>((done) => log.flush(() => done())), Bun.sleep(maxFlushMs)]);
  process.exit(status);
}
