import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { renderBanner } from './dev/banner.ts';
import { createEmbeddedIssuer } from './dev/issuer.ts';
import { internalError } from './http/answers.ts';
import { createLog, type Log } from './observe/log.ts';
import { createService, type Service } from './service.ts';
import { readSettings, type Settings, SettingsError } from './settings.ts';

const usage = `Usage: protected-api [--dev] [--healthcheck] [--help] [--version]

  --dev          be the authorization server too, to try things out
  --healthcheck  ask the running instance's /livez; exit status 0 or 1
  --help         show this
  --version      show the version

Settings come from the environment; .env.example lists them all.

  ISSUER         whose tokens are accepted: https://<domain>/
  AUDIENCE       the API identifier that tokens carry in aud
  PORT           where to listen; 3010 by default

Without the first two, and outside production, --dev is taken for granted.
`;

const flags = {
  dev: { type: 'boolean', default: false },
  healthcheck: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
} as const;

/** Nobody is helped by a stack trace: a mistake in how the service is started is told in a line and ends it. */
function fail(message: string): never {
  process.stderr.write(`${message}\n`);
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

async function checkHealth({ host, port }: Settings): Promise<never> {
  const request = fetch(`${localOrigin(host, port)}/livez`, { signal: AbortSignal.timeout(2000) });
  const isLive = await request.then(
    ({ ok }) => ok,
    () => false,
  );
  process.exit(isLive ? 0 : 1);
}

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
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    return fail(
      `Cannot listen on ${hostname}:${port}: ${isTaken ? 'the port is in use' : 'the address is not available'}`,
    );
  }
}

type Server = ReturnType<typeof listen>;

/** Returns the service for this port; without an issuer in its settings it gets one of its own and tells how to use it. */
async function createServiceAt(port: number, settings: Settings, log: Log): Promise<Service> {
  if (settings.issuer) return createService({ settings, issuer: settings.issuer, log });

  const origin = settings.publicUrl ?? `http://localhost:${port}`;
  const issuer = {
    issuer: `${origin}/`,
    audience: origin,
    jwksUri: `${localOrigin(settings.host, port)}/.well-known/jwks.json`,
  };
  const { routes, clients } = await createEmbeddedIssuer(issuer);
  const hasColour = process.stderr.isTTY === true && !process.env.NO_COLOR;
  process.stderr.write(renderBanner({ origin, audience: origin, clients, hasDocumentation: settings.docs, hasColour }));
  const embedded = { routes, client: clients.reader };
  return createService({ settings: { ...settings, publicUrl: origin }, issuer, log, embedded });
}

/** First the load balancer is told, then no connection is taken any more, then what is under way may finish. */
function shutDownOnSignal(service: Service, servers: readonly Server[], settings: Settings, log: Log): void {
  let isShuttingDown = false;
  const shutDown = async (signal: string) => {
    if (isShuttingDown) process.exit(1);
    isShuttingDown = true;
    log.info({ signal }, 'Shutting down');
    service.announceShutdown();
    await Bun.sleep(settings.shutdownDelaySeconds * 1000);
    const drained = Promise.all(servers.map((server) => server.stop()));
    await Promise.race([drained, Bun.sleep(settings.shutdownTimeoutSeconds * 1000)]);
    service.stop();
    log.info('Stopped');
    process.exit(0);
  };
  process.on('SIGTERM', shutDown);
  process.on('SIGINT', shutDown);
}

async function serve(settings: Settings): Promise<void> {
  const log = createLog(settings.logLevel, {
    isTerminal: process.stdout.isTTY === true,
    hasColour: !process.env.NO_COLOR,
  });
  const die = (error: unknown) => {
    log.fatal({ err: error }, 'Cannot go on');
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);

  const { host: hostname, port, metricsPort, reusePort } = settings;
  const server = listen(log, { hostname, port, reusePort });
  const service = await createServiceAt(server.port ?? port, settings, log);
  server.reload({ fetch: service.fetch });
  const servers = [server];

  const { metrics } = service;
  if (metrics && metricsPort !== undefined) {
    const metricsServer = listen(log, { hostname, port: metricsPort });
    metricsServer.reload({ fetch: metrics.fetch });
    servers.push(metricsServer);
  }
  shutDownOnSignal(service, servers, settings, log);
  service.start();
  log.info({ version: packageJson.version, ...settings, ...service.issuer, port: server.port }, 'Listening');
}

const { dev, healthcheck, help, version } = readFlags();
if (help) process.stdout.write(usage);
else if (version) process.stdout.write(`${packageJson.version}\n`);
else if (healthcheck) await checkHealth(readSettingsOrFail(dev));
else await serve(readSettingsOrFail(dev));
