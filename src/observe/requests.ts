import type { Claims, KeySetEvent, RejectionReason, ReplayStoreEvent } from 'protected-api';
import type { FetchHandler, RouteOf } from '../http/plugin.ts';
import { whenSettled } from '../http/when-settled.ts';
import type { StoreEvent } from '../redis/store-failure.ts';
import { createKeySetLog, createRejectionHints, logStoreEvent } from './guard-log.ts';
import type { Log } from './log.ts';
import type { Metrics, Outcome } from './metrics.ts';

/** What a guard has decided about a request. */
interface Decision {
  readonly outcome: Outcome;
  readonly claims?: Claims;
  /** The URL that a proof should have named. */
  readonly expected?: string | undefined;
}

/** Where a request has its decision. A weak map of requests would take most of the time that metrics take. */
const decision = Symbol('decision');

type Decided = object & { [decision]?: Decision };

const accepted: Decision = { outcome: 'accepted' };

/**
 * Returns what counts and logs: listeners for the guard and its store, and a wrapper for the application's `fetch`.
 * Without metrics and the level debug, requests only get their `X-Request-Id` back.
 */
export function createObservation(log: Log, metrics: Metrics | undefined) {
  const isLogged = log.isLevelEnabled('debug');
  const isObserved = isLogged || metrics !== undefined;
  /** Those that clients did not send. */
  const madeIds = new WeakMap<object, string>();
  const hint = createRejectionHints(log);
  const logKeySetEvent = createKeySetLog(log);

  function logRequest(request: Request & Decided, status: number, route = 'unmatched', durationMs: number): void {
    const { outcome, claims, expected } = request[decision] ?? {};
    const client = { sub: shortenClaim(claims?.sub), client_id: shortenClaim(claims?.client_id) };
    const seen = { method: request.method, route, status, durationMs: Number(durationMs.toFixed(3)) };
    log.debug({ requestId: requestIdOf(request), ...seen, outcome, expected, ...client }, 'Request');
  }

  /** Returns the `X-Request-Id` of the response, or undefined if it has none. */
  const requestIdOf = (request: Request) =>
    madeIds.get(request) ?? (cleanRequestId(request.headers.get('x-request-id')) || undefined);

  return {
    requestIdOf,
    onAccepted: isObserved
      ? (request: Decided, claims: Claims) => {
          request[decision] = isLogged ? { ...accepted, claims } : accepted;
        }
      : undefined,
    /** The last decision counts: a token is accepted before the requirements of a route are checked. */
    onRejected(request: Decided, reason: RejectionReason, given?: { readonly expected: string | undefined }): void {
      hint(reason);
      if (isObserved) request[decision] = { ...request[decision], outcome: reason, expected: given?.expected };
    },
    onKeySetEvent(event: KeySetEvent): void {
      if (event.type === 'fetched') metrics?.countFetch(event.issuer, 'success');
      if (event.type === 'failed') metrics?.countFetch(event.issuer, event.failure);
      logKeySetEvent(event);
    },
    onStoreEvent(event: StoreEvent | ReplayStoreEvent): void {
      if (event.type === 'failed' && 'failure' in event) metrics?.countStoreFailure(event.failure);
      logStoreEvent(log, event);
    },
    wrap(fetch: FetchHandler, routeOf: RouteOf): FetchHandler {
      return (request: Request & Decided) => {
        const givenId = request.headers.get('x-request-id');
        if (givenId === null && !isObserved) return fetch(request);
        const requestId = cleanRequestId(givenId) || (isLogged ? crypto.randomUUID() : undefined);
        if (isLogged && requestId) madeIds.set(request, requestId);
        const startedAtMs = performance.now();
        return whenSettled(fetch(request), (response) => {
          const durationMs = performance.now() - startedAtMs;
          if (requestId) {
            response.headers.set('X-Request-Id', requestId);
            response.headers.append('Access-Control-Expose-Headers', 'X-Request-Id');
          }
          if (!isObserved) return response;
          const route = routeOf(request);
          metrics?.countRequest(route, response.status, durationMs, request[decision]?.outcome);
          if (isLogged) logRequest(request, response.status, route, durationMs);
          return response;
        });
      };
    },
  };
}

/** Clients choose the request ID, so it is limited to what is safe in a log and on a terminal. */
const cleanRequestId = (value: string | null) => value?.replace(/[^\w.:-]/g, '').slice(0, 64) ?? '';

const shortenClaim = (claim: unknown) => (typeof claim === 'string' ? claim.slice(0, 128) : undefined);
