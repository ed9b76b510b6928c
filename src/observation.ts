import type { RefusalReason } from './auth/errors.ts';
import type { Claims } from './auth/verifier.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { RouteEntry } from './route-table.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

interface Note {
  readonly outcome: 'accepted' | RefusalReason;
  readonly claims?: Claims;
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

  function record(request: Request, response: Response, route: string, durationMs: number, requestId: string): void {
    const note = notes.get(request);
    metrics?.countRequest(route, response.status, durationMs / 1000);
    if (note) metrics?.countOutcome(note.outcome);
    if (!isLogged) return;
    const { sub, client_id: clientId } = note?.claims ?? {};
    log.debug(
      {
        requestId,
        method: request.method,
        route,
        status: response.status,
        durationMs: Number(durationMs.toFixed(3)),
        outcome: note?.outcome,
        sub: shorten(sub),
        client_id: shorten(clientId),
      },
      'Request',
    );
  }

  return {
    requestIdOf: (request: Request) => cleanRequestId(request.headers.get('x-request-id')),
    onAccepted: isWatched
      ? (request: Request, claims: Claims) => notes.set(request, { outcome: 'accepted', claims })
      : undefined,
    onRefused: isWatched
      ? (request: Request, outcome: RefusalReason) => notes.set(request, { ...notes.get(request), outcome })
      : undefined,
    wrap:
      (fetch: Fetch, routeOf: (path: string) => RouteEntry | undefined): Fetch =>
      (request) => {
        const givenId = request.headers.get('x-request-id');
        if (!isWatched && givenId === null) return fetch(request);

        const startedAt = performance.now();
        const requestId = cleanRequestId(givenId) || (isLogged ? crypto.randomUUID() : '');
        const finish = (response: Response) => {
          if (requestId) response.headers.set('x-request-id', requestId);
          if (isWatched) {
            const route = routeOf(new URL(request.url).pathname)?.path ?? 'unmatched';
            record(request, response, route, performance.now() - startedAt, requestId);
          }
          return response;
        };
        const response = fetch(request);
        return response instanceof Promise ? response.then(finish) : finish(response);
      },
  };
}

/** A client chooses its request id: it is cut to a length and to characters that mean nothing to a log or a terminal. */
function cleanRequestId(value: string | null): string {
  return (value ?? '').replace(/[^\w.:-]/g, '').slice(0, 64);
}

function shorten(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim.slice(0, 128) : undefined;
}
