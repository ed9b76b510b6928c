import { type AnyElysia, Elysia, ElysiaCustomStatusResponse, NotFoundError, ParseError, ValidationError } from 'elysia';
import { createBearer } from './auth/bearer.ts';
import { createRefusalHeaders, type RefusalReason, RefusedError, refusals } from './auth/errors.ts';
import type { Claims, Verifier } from './auth/verifier.ts';
import { commonHeaders, preflight } from './cross-origin.ts';
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

  // Elysia otherwise looks for the path behind the first 11 characters, which a short Host shifts.
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .mapResponse(({ responseValue, set }) => {
      const isStatus = responseValue instanceof ElysiaCustomStatusResponse;
      const body: unknown = isStatus ? responseValue.response : responseValue;
      if (isJson(body)) return json(isStatus ? responseValue.code : Number(set.status), body, set.headers);
      Object.assign(set.headers, { ...commonHeaders, ...set.headers });
      return undefined;
    })
    .onError(({ error, request, path, set }) => {
      // Elysia says 500 here, and would copy an answer that says otherwise: a quarter of what a refusal costs.
      set.status = 200;
      if (error instanceof RefusedError) {
        onRefused?.(request, error.reason);
        const { status, code, description } = refusals[error.reason];
        return json(status, { code, description }, refusalHeaders(error));
      }
      if (error instanceof NotFoundError) {
        routeOf ??= createRouteTable(app.routes);
        const allow = routeOf(path)?.methods.join(', ');
        if (!allow) return json(404, { code: 'not_found', description: 'There is no such path' });
        return json(405, { code: 'method_not_allowed', description: 'The path does not take this method' }, { allow });
      }
      if (error instanceof ElysiaCustomStatusResponse) return undefined;
      if (error instanceof ParseError || (error instanceof ValidationError && error.type !== 'response')) {
        return json(400, {
          code: 'invalid_request',
          description: 'The request is not of the form that this path takes',
        });
      }
      onInternalError(error, request);
      return internalError();
    })
    .options('/*', ({ request }) => preflight.fetch(request))
    .use(createMessages(createBearer({ verifier, onAccepted })))
    .use(createHealth(readiness));

  if (extension) app.use(extension);
  return app;
}

const jsonHeaders = new Headers({ ...commonHeaders, 'content-type': 'application/json' });

/** Copying a ready Headers costs a third of making one from an object for each answer. */
function json(status: number, body: object, headers: Readonly<Record<string, unknown>> = {}): Response {
  const response = new Response(JSON.stringify(body), { status, headers: jsonHeaders });
  for (const name in headers) response.headers.set(name, String(headers[name]));
  return response;
}

/** Returns the answer to what should not have happened, for when even the application cannot give it. */
export function internalError(): Response {
  return json(500, { code: 'internal_error', description: 'Something went wrong on our side' });
}

/** Whether a handler's value is for JSON: a plain object or a list, not a Response, a file or a stream. */
function isJson(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (value.constructor === Object || Array.isArray(value));
}
