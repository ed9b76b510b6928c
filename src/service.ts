import type { AnyElysia } from 'elysia';
import { scopesOf } from 'protected-api';
import {
  type CheckedOptions,
  clientCertificateFromHeader,
  createGuard,
  describeRejections,
  type Fetch,
  optionRules,
  usualLifetimeMs,
} from 'protected-api/guard';
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
import type { Settings } from './settings.ts';

export interface ServiceOptions {
  /** Must contain `issuer` and `audience`, also with the embedded issuer. */
  readonly settings: Settings;
  readonly log: Log;
  /** Returns the number of dropped log lines, for the metrics. */
  readonly droppedLogLines: () => number;
  /** Fetches metadata and key sets; defaults to the global `fetch`. */
  readonly fetch?: Fetch;
  /** Returns the embedded issuer, which can grant these scopes: those of the routes, once all are added. */
  readonly embed?: (scopes: () => readonly string[]) => EmbeddedIssuer;
}

/** The embedded issuer: its routes, and what the documentation page offers. */
export interface EmbeddedIssuer {
  readonly routes: AnyElysia;
  readonly tokenEndpoint: string;
  readonly clients: () => readonly Client[];
}

export type Service = ReturnType<typeof createService>;

/** Returns the complete service without the process around it: no listener and no signal handlers. I/O begins with `start`. */
export function createService(options: ServiceOptions) {
  const { settings, log, droppedLogLines, fetch, embed } = options;
  const counts = settings.metricsPort === undefined ? undefined : createRequestCounts(reasonsOf(settings));
  const observation = createObservation({ log, counts });
  const hint = createRefusalHints(log);
  const commonHeaders = createCommonHeaders(settings);
  const replayStore = createStore(settings, log, (failure) => metrics?.countStoreFailure(failure));
  const guardOptions = { ...guardOptionsOf(settings), errorHeaders: commonHeaders };
  const guard = createGuard({
    ...guardOptions,
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
    counts && createMetrics({ settings, counts, state: guard.state, replayStore, droppedLogLines });

  const embedded = embed?.(() => scopesOf(app.routes));
  const discovery = discoveryOf(options, embedded);
  let isShuttingDown = false;
  const readiness = (): Readiness => {
    if (isShuttingDown) return 'shutting_down';
    if (!guard.state().issuers.some(({ keys }) => keys > 0)) return 'key_set_unavailable';
    const canAccept = settings.dpop !== 'required' || replayStore === undefined || replayStore.state().isConnected;
    return canAccept ? 'ready' : 'replay_store_unavailable';
  };
  const app = createApp({
    guard,
    options: guardOptions,
    commonHeaders,
    readiness,
    discovery,
    extension: embedded?.routes,
    observe: observation.wrap,
    onInternalError: (error, request) =>
      log.error({ err: error, requestId: observation.requestIdOf(request) }, 'Cannot answer a request'),
  });
  counts?.expect(app.routes);

  return {
    settings,
    fetch: app.fetch,
    metrics,
    start() {
      replayStore?.start();
      if (settings.jwksAllowHttp)
        log.warn('JWKS_ALLOW_HTTP is set: an attacker on the network can replace keys that are fetched over http');
      if (settings.dpop !== 'off' && settings.reusePort && !replayStore)
        log.warn('REUSE_PORT without REDIS_URL: each process that shares the port accepts a DPoP proof once');
      guard.start();
      if (settings.docs) void discovery.tokenEndpoint();
    },
    /** Makes `/readyz` answer with 503 from now on. Requests are still answered. */
    announceShutdown() {
      isShuttingDown = true;
    },
    stop() {
      replayStore?.stop();
      guard.stop();
    },
  };
}

function discoveryOf({ settings, fetch }: ServiceOptions, embedded: EmbeddedIssuer | undefined): Discovery {
  const { issuer, jwksAllowHttp, docs: hasDocumentation } = settings;
  const tokenEndpoint = embedded
    ? async () => embedded.tokenEndpoint
    : createTokenEndpoint({
        issuer: issuer[0] ?? '',
        allowHttp: jwksAllowHttp,
        timeoutMs: settings.jwksTimeoutSeconds * 1000,
        cooldownMs: settings.jwksCooldownSeconds * 1000,
        fetch,
      });
  return { hasDocumentation, tokenEndpoint, clients: embedded?.clients };
}

/** The settings that are options of the guard. The others include secrets. */
function guardOptionsOf(settings: Settings): CheckedOptions {
  const names = Object.keys(optionRules) as (keyof CheckedOptions)[];
  const options = Object.fromEntries(names.map((name) => [name, settings[name]])) as CheckedOptions;
  const { clientCertHeader } = settings;
  return clientCertHeader === undefined
    ? options
    : { ...options, clientCertificate: clientCertificateFromHeader(clientCertHeader) };
}

/** The reasons for which requests to the routes of the service can be rejected. */
const reasonsOf = (settings: Settings) =>
  describeRejections(guardOptionsOf(settings), { scope: 'any' }).map(({ reason }) => reason);

/** Returns the store that several processes share, if one is configured. */
function createStore({ dpop, redisUrl }: Settings, log: Log, onFailure: (failure: StoreFailure) => void) {
  if (dpop === 'off' || redisUrl === undefined) return undefined;
  return createRedisReplayStore({
    url: redisUrl,
    usualLifetimeMs,
    onEvent(event) {
      if (event.type === 'failed') onFailure(event.failure);
      logStoreEvent(log, event);
    },
  });
}
