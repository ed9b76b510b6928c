import type { AnyElysia } from 'elysia';
import { createApp } from './app.ts';
import { createKeySet, type KeySetEvent } from './auth/key-set.ts';
import { createVerifier } from './auth/verifier.ts';
import { directFetch } from './direct-fetch.ts';
import type { Log } from './observe/log.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { createRequestCounts } from './observe/request-counts.ts';
import { createObservation } from './observe/requests.ts';
import type { DemoClient } from './openapi/authorization-dialog.ts';
import type { Readiness } from './routes/health.ts';
import type { IssuerSettings, Settings } from './settings.ts';

export interface ServiceOptions {
  readonly settings: Settings;
  /** Whose tokens are accepted, and for which API. */
  readonly issuer: IssuerSettings;
  readonly log: Log;
  /** Returns how many lines of the log were lost, for the metrics. */
  readonly droppedLogLines: () => number;
  /** The embedded issuer: its routes, and the clients that may be used from the documentation. */
  readonly embedded?: { readonly routes: AnyElysia; readonly clients: readonly DemoClient[] };
}

export type Service = ReturnType<typeof createService>;

/** Returns the whole service, wired but for the process around it: no listener, no signals. `start` begins its only I/O. */
export function createService({
  settings,
  issuer: { issuer, audience, jwksUri },
  log,
  droppedLogLines,
  embedded,
}: ServiceOptions) {
  const keySet = createKeySet({
    uri: jwksUri,
    fetch: directFetch,
    maxAgeMs: settings.jwksMaxAgeSeconds * 1000,
    maxStaleMs: settings.jwksMaxStaleSeconds * 1000,
    cooldownMs: settings.jwksCooldownSeconds * 1000,
    timeoutMs: settings.jwksTimeoutSeconds * 1000,
    onEvent(event) {
      if (event.type !== 'expired') metrics?.countFetch(issuer, event.type === 'fetched' ? 'success' : event.failure);
      logKeySetEvent(log, event);
    },
  });
  const verifier = createVerifier({
    issuer,
    audience,
    keySet,
    clockToleranceSeconds: settings.clockToleranceSeconds,
    cacheSize: settings.tokenCacheSize,
  });
  const counts = settings.metricsPort === undefined ? undefined : createRequestCounts();
  const state = () => ({ issuers: [{ issuer, ...keySet.state() }], ...verifier.state() });
  const metrics: Metrics | undefined = counts && createMetrics({ counts, state, droppedLogLines });
  const observation = createObservation({ log, counts });

  let isShuttingDown = false;
  const readiness = (): Readiness => {
    if (isShuttingDown) return 'shutting_down';
    return keySet.state().keys > 0 ? 'ready' : 'key_set_unavailable';
  };
  const app = createApp({
    verifier,
    readiness,
    discovery: {
      issuer,
      audience,
      publicUrl: settings.publicUrl,
      hasDocumentation: settings.docs,
      clients: embedded?.clients,
    },
    extension: embedded?.routes,
    observe: observation.wrap,
    onAccepted: observation.onAccepted,
    onRefused: observation.onRefused,
    onInternalError: (error, request) =>
      log.error({ err: error, requestId: observation.requestIdOf(request) }, 'Cannot answer a request'),
  });

  return {
    /** Whose tokens are accepted; of the address of its keys, not the query, which can hold a secret. */
    issuer: { issuer, audience, jwksUri: jwksUri.replace(/\?.*/, '') },
    fetch: app.fetch,
    metrics,
    start: () => keySet.start(),
    /** From now on `/readyz` says that no requests should be sent here; those that come are still answered. */
    announceShutdown() {
      isShuttingDown = true;
    },
    stop: () => keySet.stop(),
  };
}

/** An outage is told when it begins and when it ends, not at every attempt. */
function logKeySetEvent(log: Log, event: KeySetEvent): void {
  switch (event.type) {
    case 'expired':
      log.error('The keys held became too old to be trusted');
      break;
    case 'failed': {
      const { failure, status, failures } = event;
      log[failures === 1 ? 'warn' : 'debug']({ failure, status, failures }, 'Cannot fetch the key set');
      break;
    }
    case 'fetched': {
      const { added, removed, afterFailures } = event;
      if (afterFailures > 0) log.info({ afterFailures }, 'Key set can be fetched again');
      log[added.length + removed.length > 0 ? 'info' : 'debug']({ added, removed }, 'Key set fetched');
    }
  }
}
