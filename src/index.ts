import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { renderBanner } from './dev/banner.ts';
import { createEmbeddedIssuer } from './dev/issuer.ts';
import { internalError } from './http/answers.ts';
import { createDestination, type Destination } from './observe/destination.ts';
import { createLog, type Log } from './observe/log.ts';
import { createService, type Service } from './service.ts';
import { readSettings, type Settings, SettingsError } from './settings.ts';

const usage = `Usage: protected-api [--dev] [--healthcheck] [--help] [--version]

  --dev          run a built-in development issuer
  --healthcheck  check the instance running on this machine (HOST and PORT);
                 exits with 0 if it is live, otherwise with 1
  --help         show this help
  --version      show the version

Settings are environment variables; .env.example lists them all.

  ISSUER         issuer of the accepted tokens: https://<domain>/
  AUDIENCE       API identifier that tokens must carry in aud
  PORT           port to listen on; defaults to 3010

If neither ISSUER nor AUDIENCE is set and NODE_ENV is not production,
--dev is implied.
`;

const flags = {
  dev: { type: 'boolean', default: false },
  healthcheck: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
} as const;

/** Writes to standard output (1) or standard error (2). If that is closed or on a full disk, the text is lost and nothing else. */
function print(descriptor: 1 | 2, text: string): void {
  try {
    writeSync(descriptor, text);
  } catch {
    // There is nowhere left to say so.
  }
}

/** Ends the process with one line and no stack trace, for a mistake in how it was started. */
function fail(message: string): never {
  print(2, `${message}\n`);
  process.exit(1);
}

function readFlags() {
  try {
    return parseArgs({ options: flags }).values;
  } catch {
    const known = Object.keys(flags).map((name) => `--${name}`);
    const culprit = process.argv.slice(2).find((argument) => !known.includes(argument));
    return fail(`Cannot read flags: ${JSON.stringify(culprit)} is not one of ${known.join(', ')}`);
  }
}

function readSettingsOrFail(isDev: boolean): Settings {
  try {
    return readSettings(process.env, isDev);
  } catch (error) {
    if (error instanceof SettingsError) return fail(error.message);
    throw error;
  }
}

/** Where a client on this machine reaches a listener on `host`. */
function localOrigin(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Asks the running instance. It reads HOST and PORT alone, because a container's check lacks the flags of its service. */
async function checkHealth(): Promise<never> {
  const { HOST: host, PORT: port } = process.env;
  const url = `${localOrigin(host || '0.0.0.0', Number(port || 3010))}/livez`;
  // No proxy that the environment names reaches this process.
  const isLive = await fetch(url, { proxy: false, redirect: 'manual', signal: AbortSignal.timeout(2000) }).then(
    ({ status }) => status === 200,
    () => false,
  );
  process.exit(isLive ? 0 : 1);
}

const listenFailures: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EINVAL: 'the host is not known',
  ENOTFOUND: 'the host is not known',
};

function listen(log: Log, options: { readonly hostname: string; readonly port: number; readonly reusePort?: boolean }) {
  const { hostname, port } = options;
  try {
    return Bun.serve({
      reusePort: false,
      ...options,
      development: false,
      // Longer than the minute for which load balancers keep an idle connection, and than any fetch of the key set.
      idleTimeout: 75,
      // The application answers large bodies itself, without reading them. Bun's own 413 has no body and no CORS headers.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      // The port is taken before the service exists, because the embedded issuer is named after it.
      fetch: () => new Response(null, { status: 503 }),
      error(error) {
        log.error({ err: error }, 'Cannot answer a request');
        return internalError();
      },
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return fail(`Cannot listen on ${hostname}:${port}: ${listenFailures[code] ?? error}`);
  }
}

type Server = ReturnType<typeof listen>;

/** Returns the service for this port; without an issuer in its settings it gets one of its own and tells how to use it. */
async function createServiceAt(
  port: number,
  settings: Settings,
  log: Log,
  { droppedLines }: Destination,
): Promise<Service> {
  const observed = { log, droppedLogLines: droppedLines };
  if (!settings.isEmbedded) return createService({ settings, ...observed });

  const origin = settings.publicUrl ?? `http://localhost:${port}`;
  const issuer = `${origin}/`;
  const { routes, clients } = await createEmbeddedIssuer({ issuer, audience: origin });
  const hasColour = isatty(2) && !process.env.NO_COLOR;
  print(2, renderBanner({ origin, audience: origin, clients, hasDocumentation: settings.docs, hasColour }));
  const embedded = { routes, clients: [clients.reader, clients.visitor] };
  const own = {
    issuer: [issuer],
    audience: [origin],
    jwksUri: `${localOrigin(settings.host, port)}/.well-known/jwks.json`,
    publicUrl: origin,
  };
  return createService({ settings: { ...settings, ...own }, ...observed, embedded });
}

/** Accepts no connection any more, and resolves once requests in flight are answered. */
async function drain(servers: readonly Server[]): Promise<void> {
  const closed = Promise.all(servers.map((server) => server.stop()));
  // Bun keeps a connection that has sent no request for ten seconds; what is on its way arrives within one.
  const quiet = async () => {
    for (let quietMs = 0; quietMs < 1000; quietMs += 50) {
      await Bun.sleep(50);
      if (servers.some(({ pendingRequests }) => pendingRequests > 0)) quietMs = 0;
    }
  };
  await Promise.race([closed, quiet()]);
}

/** On a signal, `/readyz` says 503 first; then no connection is accepted any more, and requests in flight may finish. */
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

/** A log that nobody reads must not keep the process. */
const maxFlushMs = 1000;

/** Ends the process once its last log lines are written. */
async function exit(status: number, log: Log): Promise<never> {
  await Promise.race([new Promise<void>((done) => log.flush(() => done())), Bun.sleep(maxFlushMs)]);
  process.exit(status);
}

async function serve(settings: Settings): Promise<void> {
  const destination = createDestination();
  // Not process.stdout.isTTY: to read it makes the pipe non-blocking for every process that shares it.
  const format = { isTerminal: isatty(1), hasColour: !process.env.NO_COLOR };
  const log = createLog(settings.logLevel, format, destination);
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'Fatal error');
    void exit(1, log);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);

  const { host: hostname, port, metricsPort, reusePort } = settings;
  const server = listen(log, { hostname, port, reusePort });
  const metricsServer = metricsPort === undefined ? undefined : listen(log, { hostname, port: metricsPort });
  const service = await createServiceAt(server.port ?? port, settings, log, destination);
  server.reload({ fetch: service.fetch });
  if (service.metrics) metricsServer?.reload({ fetch: service.metrics.fetch });
  shutDownOnSignal(service, metricsServer ? [server, metricsServer] : [server], settings, log);
  service.start();
  // Without what can hold a secret: the query of the one address, the credentials of the other.
  const { jwksUri, redisUrl } = service.settings;
  const shown = {
    jwksUri: jwksUri?.replace(/\?.*/, ''),
    redisUrl: redisUrl?.replace(/\/\/.*@/s, '//***@').replace(/\?.*/, ''),
  };
  log.debug({ ...service.settings, ...shown }, 'Settings');
  log.info({ version: packageJson.version, port: server.port, issuer: service.settings.issuer }, 'Listening');
}

const { dev, healthcheck, help, version } = readFlags();
if (help) print(1, usage);
else if (version) print(1, `${packageJson.version}\n`);
else if (healthcheck) await checkHealth();
else await serve(readSettingsOrFail(dev));
