import { type CheckedOptions, createGuard, describeRejections, type Fetch, type Guard } from 'protected-api';
import { scopesOf } from 'protected-api/elysia';
import type { IssuerSecrets } from 'protected-api/testing';
import { createApp } from './app.ts';
import { createServiceIssuer } from './dev/issuer.ts';
import { formatRejection } from './errors.ts';
import { createCommonHeaders } from './http/responses.ts';
import type { Log } from './observe/log.ts';
import { createMetrics } from './observe/metrics.ts';
import { createObservation } from './observe/requests.ts';
import { createTokenUrlFinder } from './openapi/token-endpoint.ts';
import { RedisReplayStore } from './redis/replay-store.ts';
import type { Readiness } from './routes/health.ts';
import type { Settings } from './settings.ts';

export interface ServiceOptions {
  readonly settings: Omit<Settings, 'optionsAt' | 'warnings' | 'port' | 'host'>;
  /** The options of the guard. */
  readonly options: CheckedOptions;
  readonly log: Log;
  /** Returns the number of dropped log lines, for the metrics. */
  readonly droppedLogLines: () => number;
  /** Fetches metadata and key sets; defaults to the global `fetch`. */
  readonly fetch?: Fetch;
  /** Those of an earlier development issuer; by default, it makes new ones. */
  readonly secrets?: IssuerSecrets | undefined;
}

export type Service = ReturnType<typeof createService>;

/** Returns the service without the process around it: no listener, no signal handlers. I/O begins with `start`. */
export function createService({ settings, options, log, droppedLogLines, fetch, secrets }: ServiceOptions) {
  const reasons = describeRejections(options, { scope: 'any' }).map(({ reason }) => reason);
  const url = options.dpop === 'off' ? undefined : settings.redisUrl;
  const metrics = settings.metricsPort === undefined ? undefined : createMetrics(reasons, url !== undefined);
  const { onStoreEvent, requestIdOf, wrap, ...listeners } = createObservation(log, metrics);
  const replayStore = url === undefined ? undefined : new RedisReplayStore({ url, onEvent: onStoreEvent });
  const isStoreUp = () => replayStore?.isConnected === true;
  // The events of Redis say more.
  const onReplayStoreEvent = replayStore ? () => {} : onStoreEvent;
  // Asked for when a token is requested: the application needs the guard, which needs the keys of the issuer.
  const developmentIssuer =
    settings.issuer === 'development'
      ? createServiceIssuer([options.publicUrl ?? ''].flat()[0] ?? '', () => scopesOf(app.routes), secrets)
      : undefined;
  // Its keys are given, because whether this process reaches its own listener depends on the network.
  const keys = developmentIssuer && { ...developmentIssuer.options, jwksUri: undefined };
  const commonHeaders = createCommonHeaders(options, settings.corsAllowedHeaders);
  const format = { formatRejection, errorHeaders: commonHeaders };
  const guard = createGuard({ ...options, ...keys, ...listeners, ...format, fetch, replayStore, onReplayStoreEvent });
  const tokenEndpoint = developmentIssuer
    ? async () => developmentIssuer.options.issuer.replace(/\/$/, '') + developmentIssuer.endpoints.token
    : createTokenUrlFinder(guard);
  let isShuttingDown = false;
  const needsStore = options.dpop === 'required' && replayStore !== undefined;
  const app = createApp({
    guard,
    options,
    commonHeaders,
    readiness: () => (isShuttingDown ? 'shutting_down' : readinessOf(guard, !needsStore || isStoreUp())),
    hasDocumentation: settings.docs,
    tokenEndpoint,
    developmentIssuer,
    observe: wrap,
    isClosing: () => isShuttingDown,
    onInternalError: (error, request) =>
      log.error({ err: error, requestId: requestIdOf(request) }, 'Cannot respond to a request'),
  });
  metrics?.expect(app.routes);
  const sources = { state: guard.state, isStoreUp, droppedLogLines };

  return {
    developmentIssuer,
    guard,
    fetch: app.fetch,
    metrics: metrics && ((request: Request) => metrics.respond(request, sources)),
    start() {
      replayStore?.start();
      guard.start();
      if (settings.docs) void tokenEndpoint();
    },
    /** Makes `/readyz` return 503 from now on, and every response end its connection. Requests are still served. */
    announceShutdown() {
      isShuttingDown = true;
    },
    stop() {
      replayStore?.stop();
      guard.stop();
    },
  };
}

function readinessOf(guard: Guard, canCheckProofs: boolean): Readiness {
  if (!guard.state().issuers.some(({ keys }) => keys > 0)) return 'key_set_unavailable';
  return canCheckProofs ? 'ready' : 'replay_store_unavailable';
}
