import type { RefusalReason } from '../auth/refusal.ts';
import type { Claims } from '../auth/verifier.ts';
import type { RouteEntry } from '../http/route-table.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

interface Note {
  readonly outcome: 'accepted' | RefusalReason;
  readonly claims: Claims | undefined;
}

export interface ObservationOptions {
  readonly log: Log;
  readonly metrics: Metrics | undefined;
}

/**
 * Returns what counts and logs requests: two hooks for the application and a wrapper for its `fetch`. Where nobody
 * watches, the hooks are undefined and the wrapper only echoes `X-Request-Id`.
 */
export function createObservation({ log, metrics }: ObservationOptions) {
  const isLogged = log.isLevelEnabled('debug');
  const isWatched = isLogged || metrics !== undefined;
  const notes = new WeakMap<Request, Note>();

  function logRequest(
    request: Request,
    response: Response,
    route: string,
    durationMs: number,
    requestId: string,
  ): void {
    const { outcome, claims } = notes.get(request) ?? {};
    log.debug(
      {
        requestId,
        method: request.method,
        route,
        status: response.status,
        durationMs: Number(durationMs.toFixed(3)),
        outcome,
        sub: shorten(claims?.sub),
        client_id: shorten(claims?.client_id),
      },
      'Request',
    );
  }

  function note(request: Request, outcome: Note['outcome'], claims = notes.get(request)?.claims): void {
    metrics?.countOutcome(outcome);
    if (isLogged) notes.set(request, { outcome, claims });
  }

  return {
    requestIdOf: (request: Request) => cleanRequestId(request.headers.get('x-request-id')),
    onAccepted: isWatched ? (request: Request, claims: Claims) => note(request, 'accepted', claims) : undefined,
    onRefused: isWatched ? (request: Request, reason: RefusalReason) => note(request, reason) : undefined,
    wrap:
      (fetch: Fetch, routeOf: (path: string) => RouteEntry | undefined): Fetch =>
      (request) => {
        const givenId = request.headers.get('x-request-id');
        if (!isWatched && givenId === null) return fetch(request);

        const startedAt = performance.now();
        const requestId = cleanRequestId(givenId) || (isLogged ? crypto.randomUUID() : '');
        const finish = (response: Response) => {
          if (requestId) response.headers.set('x-request-id', requestId);
          const durationMs = performance.now() - startedAt;
          const route = routeOf(pathOf(request.url))?.path ?? 'unmatched';
          metrics?.countRequest(route, response.status, durationMs / 1000);
          if (isLogged) logRequest(request, response, route, durationMs, requestId);
          return response;
        };
        const response = fetch(request);
        return response instanceof Promise ? response.then(finish) : finish(response);
      },
  };
}

/** The path of an absolute address as it was sent, percent-encoding included. */
function pathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  return url.slice(start, end === -1 ? undefined : end);
}

/** A client chooses its request id: it is cut to a length and to characters that mean nothing to a log or a terminal. */
function cleanRequestId(value: string | null): string {
  return (value ?? '').replace(/[^\w.:-]/g, '').slice(0, 64);
}

function shorten(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim.slice(0, 128) : undefined;
}
