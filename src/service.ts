import type { AnyElysia } from 'elysia';
import { scopesOf } from 'protected-api';
import { type CheckedOptions, createGuard, describeRejections, type Fetch, usualLifetimeMs } from 'protected-api/guard';
import type { Client } from 'protected-api/testing';
import { createApp, type Discovery } from './app.ts';
import { createCommonHeaders } from './http/answers.ts';
import { createRefusalHints, logKeySetEvent, logStoreEvent } from './observe/guard-log.ts';
import type { Log } from './observe/log.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { createRequestCounts } from './observe/request-counts.ts';
import { createObservation } from './observe/requests.ts';
import { createTokenEndpoint } from './openapi/token-endpoint.ts';
import { createRedisReplayStore, type StoreFailure } from './redis/replay-store.ts';
import type { Readiness } from './routes/health.ts';
import type { ProcessSettings } from './settings.ts';

export interface ServiceOptions {
  readonly settings: Omit<ProcessSettings, 'port' | 'host'>;
  /** The options of the guard. */
  readonly options: CheckedOptions;
  readonly log: Log;
  /** Returns the number of dropped log lines, for the metrics. */
  readonly droppedLogLines: () => number;
  /** Fetches metadata and key sets; defaults to the global `fetch`. */
  readonly fetch?: Fetch;
  /** Returns the development issuer, which can grant these scopes: those of the routes, once all are added. */
  readonly embed?: (scopes: () => readonly string[]) => EmbeddedIssuer;
}

/** The development issuer: its routes, and what the documentation page offers. */
export interface EmbeddedIssuer {
  readonly routes: AnyElysia;
  readonly tokenEndpoint: string;
  readonly clients: () => readonly Client[];
  /** Returns a response to a request whose Host must not get secrets. */
  readonly refuseHost: (request: Request) => Response | undefined;
}

export type Service = ReturnType<typeof createService>;

/** Returns the complete service without the process around it: no listener and no signal handlers. I/O begins with `start`. */
export function createService(service: ServiceOptions) {
  const { settings, options, log, droppedLogLines, fetch, embed } = service;
  const reasons = describeRejections(options, { scope: 'any' }).map(({ reason }) => reason);
  const counts = settings.metricsPort === undefined ? undefined : createRequestCounts(reasons);
  const observation = createObservation({ log, counts });
  const hint = createRefusalHints(log);
  const commonHeaders = createCommonHeaders(options);
  const replayStore = createStore(service, (failure) => metrics?.countStoreFailure(failure));
  const guard = createGuard({
    ...options,
    errorHeaders: commonHeaders,
    fetch,
    replayStore,
    onAccepted: observation.onAccepted,
    onRefused(request, reason) {
      hint(reason);
      observation.onRefused?.(request, reason);
    },
    onKeySetEvent(event) {
      if (event.type === 'fetched') metrics?.countFetch(event.issuer, 'success');
      if (event.type === 'failed') metrics?.countFetch(event.issuer, event.failure);
      logKeySetEvent(log, event);
    },
  });
  const metrics: Metrics | undefined =
    counts && createMetrics({ settings: options, counts, state: guard.state, replayStore, droppedLogLines });

  const embedded = embed?.(() => scopesOf(app.routes));
  const discovery = discoveryOf(service, embedded);
  let isShuttingDown = false;
  const readiness = (): Readiness => {
    if (isShuttingDown) return 'shutting_down';
    if (!guard.state().issuers.some(({ keys }) => keys > 0)) return 'key_set_unavailable';
    const canAccept = options.dpop !== 'required' || replayStore === undefined || replayStore.state().isConnected;
    return canAccept ? 'ready' : 'replay_store_unavailable';
  };
  const app = createApp({
    guard,
    options,
    commonHeaders,
    readiness,
    discovery,
    extension: embedded?.routes,
    observe: observation.wrap,
    isClosing: () => isShuttingDown,
    onInternalError: (error, request) =>
      log.error({ err: error, requestId: observation.requestIdOf(request) }, 'Cannot answer a request'),
  });
  counts?.expect(app.routes);

  return {
    fetch: app.fetch,
    metrics,
    start() {
      replayStore?.start();
      guard.start();
      if (settings.docs) void discovery.tokenEndpoint();
    },
    reload: guard.reload,
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

function discoveryOf({ settings, options, fetch }: ServiceOptions, embedded: EmbeddedIssuer | undefined): Discovery {
  const { issuer, jwksAllowHttp, jwksTimeoutSeconds, jwksCooldownSeconds } = options;
  const tokenEndpoint = embedded
    ? async () => embedded.tokenEndpoint
    : createTokenEndpoint({
        issuer: issuer[0] ?? '',
        allowHttp: jwksAllowHttp,
        timeoutMs: jwksTimeoutSeconds * 1000,
        cooldownMs: jwksCooldownSeconds * 1000,
        fetch,
      });
  const { clients, refuseHost } = embedded ?? {};
  return { hasDocumentation: settings.docs, tokenEndpoint, clients, refuseHost };
}

/** Returns the store that several processes share, if one is configured. */
function createStore({ settings, options, log }: ServiceOptions, onFailure: (failure: StoreFailure) => void) {
  const { redisUrl } = settings;
  if (options.dpop === 'off' || redisUrl === undefined) return undefined;
  return createRedisReplayStore({
    url: redisUrl,
    usualLifetimeMs,
    onEvent(event) {
      if (event.type === 'failed') onFailure(event.failure);
      logStoreEvent(log, event);
    },
  });
}
