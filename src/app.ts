import { type AnyElysia, Elysia, ElysiaCustomStatusResponse, NotFoundError, ParseError, ValidationError } from 'elysia';
import { createBearer } from './auth/bearer.ts';
import { createRefusalHeaders, type RefusalReason, RefusedError, refusals } from './auth/errors.ts';
import type { Claims, Verifier } from './auth/verifier.ts';
import { crossOriginHeaders, preflight } from './cross-origin.ts';
import { createRouteTable } from './route-table.ts';
import { createHealth, type Readiness } from './routes/health.ts';
import { createMessages } from './routes/messages.ts';

/** What the application needs from outside; it does no I/O of its own and reads no environment. */
export interface Dependencies {
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly readiness: () => Readiness;
  /** Told of what should not have happened; the client learns nothing of it. */
  readonly onInternalError: (error: unknown, request: Request) => void;
  readonly onAccepted?: ((request: Request, claims: Claims) => void) | undefined;
  readonly onRefused?: ((request: Request, reason: RefusalReason) => void) | undefined;
  /** Further routes: the embedded issuer's. */
  readonly extension?: AnyElysia | undefined;
}

/** The application's type, for typed clients. */
export type App = ReturnType<typeof createApp>;

/** Returns the Web-standard application: `fetch(Request): Response`, with every route and every error answer of the service. */
export function createApp(dependencies: Dependencies) {
  const { verifier, readiness, onInternalError, onAccepted, onRefused, extension } = dependencies;
  const refusalHeaders = createRefusalHeaders(undefined);
  let routeOf: ReturnType<typeof createRouteTable> | undefined;

  const app = new Elysia({ strictPath: true })
    .headers({ ...crossOriginHeaders, 'content-type': 'application/json', 'x-content-type-options': 'nosniff' })
    .onError(({ error, request, path, set }) => {
      const answer = (status: number, code: string, description: string, headers: Record<string, string> = {}) => {
        set.status = status;
        Object.assign(set.headers, { 'cache-control': 'no-store' }, headers);
        return { code, description };
      };
      if (error instanceof RefusedError) {
        onRefused?.(request, error.reason);
        const { status, code, description } = refusals[error.reason];
        return answer(status, code, description, refusalHeaders(error));
      }
      if (error instanceof NotFoundError) {
        routeOf ??= createRouteTable(app.routes);
        const route = routeOf(path);
        if (!route) return answer(404, 'not_found', 'There is no such path');
        return answer(405, 'method_not_allowed', 'The path does not take this method', {
          allow: route.methods.join(', '),
        });
      }
      if (error instanceof ElysiaCustomStatusResponse) return undefined;
      if (error instanceof ParseError || (error instanceof ValidationError && error.type !== 'response')) {
        return answer(400, 'invalid_request', 'The request is not of the form that this path takes');
      }
      onInternalError(error, request);
      return answer(500, 'internal_error', 'Something went wrong on our side');
    })
    .options('/*', ({ request, set }) => {
      set.headers = {};
      return preflight.fetch(request);
    })
    .use(createMessages(createBearer({ verifier, onAccepted })))
    .use(createHealth(readiness));

  if (extension) app.use(extension);
  return app;
}
