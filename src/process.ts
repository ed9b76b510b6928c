import { isIP } from 'node:net';
import { isatty } from 'node:tty';
import type { CheckedOptions } from 'protected-api/guard';
import packageJson from '../package.json' with { type: 'json' };
import { fail, print } from './cli.ts';
import { renderBanner } from './dev/banner.ts';
import { createIssuerSecrets, createServiceIssuer } from './dev/issuer.ts';
import { keptOverReloads } from './dev/reload.ts';
import { createResponses } from './http/responses.ts';
import { BoundedDestination } from './observe/destination.ts';
import { createLog, type Log } from './observe/log.ts';
import { createService, type Service } from './service.ts';
import type { Settings } from './settings.ts';
import { endOnFatalError, replaceListeners, shutDownOnSignal } from './shutdown.ts';

/** Listens, and serves until a signal ends the process. */
export async function serve(settings: Settings, hasColour: boolean): Promise<void> {
  const destination = new BoundedDestination();
  // Not process.stdout.isTTY: reading it makes the pipe non-blocking for every process that shares it.
  const log = createLog(settings.logLevel, { isTerminal: isatty(1), hasColour }, destination);
  keptOverReloads().stop?.();
  endOnFatalError(log);

  const { host: hostname, port, metricsHost, metricsPort, reusePort } = settings;
  const server = listen(log, 'PORT', hostname, port, reusePort);
  const metricsServer = metricsPort === undefined ? undefined : listen(log, 'METRICS_PORT', metricsHost, metricsPort);
  for (const { message, ...warning } of settings.warnings) log.warn(warning, message);
  const options = settings.optionsAt(server.port ?? port);
  const service = createService({
    settings,
    options,
    log,
    droppedLogLines: destination.droppedLines,
    ...(settings.issuer === 'development' && {
      createIssuer: prepareIssuer(options, settings.docs, isatty(2) && hasColour),
    }),
  });
  server.reload({ fetch: service.fetch });
  if (service.metrics) metricsServer?.reload({ fetch: service.metrics.fetch });
  keptOverReloads().stop = service.stop;
  shutDownOnSignal(service, metricsServer ? [server, metricsServer] : [server], settings, log);
  // The end of a terminal ends its processes.
  if (![0, 1, 2].some(isatty)) replaceListeners('SIGHUP', () => reloadKeys(service, log));
  service.start();
  log.debug(withoutSecrets(options, settings), 'Settings');
  const ports = { port: server.port, metricsPort: metricsServer?.port };
  log.info({ version: packageJson.version, ...ports, issuer: options.issuer }, 'Listening');
}

/** Fetches the keys of all issuers, because one may be compromised, and logs what came of it. */
async function reloadKeys(service: Service, log: Log): Promise<void> {
  const { issuers } = await service.reload();
  const isReloaded = issuers.every(({ lastFailure }) => lastFailure === undefined);
  if (isReloaded) log.info({ issuers }, 'Keys fetched on SIGHUP');
  else log.error({ issuers }, 'Cannot fetch all keys on SIGHUP: the old keys stay trusted where lastFailure is set');
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

/** Why a listener cannot be created, and how to change it; by the name of the setting that has its port. */
const listenFailures: Readonly<Record<string, (setting: string) => string>> = {
  EACCES: (setting) => `permission denied. Set ${setting} to 1024 or higher`,
  EADDRINUSE: (setting) => `the port is in use. Set ${setting} to another port`,
  EADDRNOTAVAIL: (setting) => `the address does not belong to this machine. Change ${hostOf(setting)}`,
};

const hostOf = (setting: string) => setting.replace('PORT', 'HOST');

/**
 * Returns a listener.
 * @param id the setting that has the port, by which Bun finds the listener again after a reload
 */
function listen(log: Log, id: 'PORT' | 'METRICS_PORT', hostname: string, port: number, reusePort = false) {
  try {
    return Bun.serve({
      id,
      hostname,
      port,
      reusePort,
      development: false,
      // Longer than the 60 seconds for which load balancers keep an idle connection, and than a fetch of the key set.
      idleTimeout: 75,
      // The application rejects large bodies itself, without reading them. Bun's own 413 has no body and no CORS headers.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      // Replaced below. The listener comes first, because the development issuer needs to know its port.
      fetch: () => new Response(null, { status: 503 }),
      error(error) {
        log.error({ err: error }, 'Cannot respond to a request');
        return createResponses().fail('internal_error');
      },
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // For a name that cannot be resolved, Bun's code is that of an earlier system call.
    const reason =
      listenFailures[code]?.(id) ?? (isIP(hostname) === 0 ? `the host is not known. Change ${hostOf(id)}` : error);
    return fail(`Cannot listen on ${hostname}:${port}: ${reason}`);
  }
}

/** Prints how to use the development issuer, and returns the function that creates it. */
function prepareIssuer({ publicUrl: origin = '' }: CheckedOptions, hasDocumentation: boolean, hasColour: boolean) {
  const kept = keptOverReloads();
  const { secrets = createIssuerSecrets() } = kept;
  if (!kept.secrets) print(2, renderBanner({ origin, clients: secrets.clients, hasDocumentation, hasColour }));
  kept.secrets = secrets;
  return (scopes: () => readonly string[]) => createServiceIssuer(origin, secrets, scopes);
}
