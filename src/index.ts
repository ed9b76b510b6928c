import { writeSync } from 'node:fs';
import { isIP } from 'node:net';
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

/** Writes to standard output (1) or standard error (2). If that fails, such as on a full disk, the text is lost. */
function print(descriptor: 1 | 2, text: string): void {
  try {
    writeSync(descriptor, text);
  } catch {
    // There is nowhere left to report this.
  }
}

/** Exits with one line and no stack trace, for a mistake of the operator. */
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

/** Returns the origin at which a client on this machine reaches a listener on `host`. */
function localOrigin(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Checks the running instance. Reads only HOST and PORT, because a container's health check lacks the flags of its service. */
async function checkHealth(): Promise<never> {
  const { HOST: host, PORT: port } = process.env;
  const url = `${localOrigin(host || '0.0.0.0', Number(port || 3010))}/livez`;
  // A proxy named in the environment cannot reach this process.
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
};

function listen(log: Log, options: { readonly hostname: string; readonly port: number; readonly reusePort?: boolean }) {
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
      // Replaced below. The listener comes first, because the embedded issuer needs to know its port.
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

/** Returns the service for this port. If the settings have no issuer, creates the embedded one and prints how to use it. */
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

async function serve(settings: Settings): Promise<void> {
  const destination = createDestination();
  // Not process.stdout.isTTY: reading it makes the pipe non-blocking for every process that shares it.
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
  // The query of jwksUri and the credentials of redisUrl can be secret.
  const { jwksUri, redisUrl } = service.settings;
  const shown = {
    jwksUri: jwksUri?.replace(/\?.*/, ''),
    redisUrl: redisUrl?.replace(/\/\/.*@/s, '//***@').replace(/\?.*/, ''),
  };
  log.debug({ ...service.settings, ...shown }, 'Settings');
  log.info({ version: packageJson.version, port: server.port, issuer: service.settings.issuer }, 'Listening');
}

const { engines, packageManager } = packageJson;
if (!Bun.semver.satisfies(Bun.version, engines.bun))
  fail(`Cannot start: requires Bun ${engines.bun}, got ${Bun.version}. Run npm install --global ${packageManager}`);

const { dev, healthcheck, help, version } = readFlags();
if (help) print(1, usage);
else if (version) print(1, `${packageJson.version}\n`);
else if (healthcheck) await checkHealth();
else await serve(readSettingsOrFail(dev));
