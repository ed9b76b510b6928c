import { type AnyElysia, Elysia, ElysiaCustomStatusResponse, NotFoundError, ParseError, ValidationError } from 'elysia';
import { createRefusalHeaders, failures, type RefusalReason, RefusedError, refusals } from './auth/refusal.ts';
import { createBearer, scopesOf } from './auth/resource-server.ts';
import type { Claims, Verifier } from './auth/verifier.ts';
import { commonHeaders, preflight } from './http/cross-origin.ts';
import { createRouteTable } from './http/route-table.ts';
import { createDocumentation } from './routes/documentation.ts';
import { createHealth, type Readiness } from './routes/health.ts';
import { createHome } from './routes/home.ts';
import { createMessages } from './routes/messages.ts';
import { createResourceMetadata, resourceMetadataUrl } from './routes/resource-metadata.ts';

/** What clients are told of the API: where it is, and whose tokens it takes. */
export interface Discovery {
  readonly issuer: string;
  readonly audience: string;
  /** Where clients reach the API, without a trailing slash; undefined when that is not known. */
  readonly publicUrl: string | undefined;
  readonly hasDocumentation: boolean;
  /** A client of the embedded issuer, whose credentials anyone who opens the documentation may use. */
  readonly client?: { readonly id: string; readonly secret: string } | undefined;
}

/** What the application needs from outside; it does no I/O of its own and reads no environment. */
export interface Dependencies {
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly readiness: () => Readiness;
  /** Told of what should not have happened; the client learns nothing of it. */
  readonly onInternalError: (error: unknown, request: Request) => void;
  readonly onAccepted?: ((request: Request, claims: Claims) => void) | undefined;
  readonly onRefused?: ((request: Request, reason: RefusalReason) => void) | undefined;
  readonly discovery?: Discovery | undefined;
  /** Further routes: the embedded issuer's. */
  readonly extension?: AnyElysia | undefined;
}

/** The application's type, for typed clients. */
export type App = ReturnType<typeof createApp>;

/** Returns the Web-standard application: `fetch(Request): Response`, with every route and every error answer of the service. */
export function createApp(dependencies: Dependencies) {
  const { verifier, readiness, onInternalError, onAccepted, onRefused, discovery, extension } = dependencies;
  const { publicUrl, hasDocumentation = false } = discovery ?? {};
  const refusalHeaders = createRefusalHeaders(publicUrl === undefined ? undefined : resourceMetadataUrl(publicUrl));
  let routeOf: ReturnType<typeof createRouteTable> | undefined;

  // Elysia otherwise looks for the path behind the first 11 characters, which a short Host shifts.
  const app = new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .mapResponse(({ responseValue, request, set }) => {
      // Elysia would answer with the text of an Error that a handler returns.
      if (responseValue instanceof Error) {
        onInternalError(responseValue, request);
        return internalError();
      }
      if (isOurs(responseValue)) return undefined;
      const isStatus = responseValue instanceof ElysiaCustomStatusResponse;
      const body: unknown = isStatus ? responseValue.response : responseValue;
      if (isJson(body)) return json(isStatus ? responseValue.code : Number(set.status), body, set.headers);
      Object.assign(set.headers, { ...commonHeaders, ...set.headers });
      return undefined;
    })
    .onError(({ error, request, path, set }) => {
      // Elysia says 500 here, and would copy an answer that says otherwise.
      set.status = 200;
      if (error instanceof RefusedError) {
        onRefused?.(request, error.reason);
        const { status, code, description } = refusals[error.reason];
        return json(status, { code, description }, refusalHeaders(error));
      }
      if (error instanceof NotFoundError) {
        routeOf ??= createRouteTable(app.routes);
        const allow = routeOf(path)?.methods.join(', ');
        return allow ? fail('method_not_allowed', { allow }) : fail('not_found');
      }
      if (error instanceof ElysiaCustomStatusResponse) return undefined;
      if (error instanceof ParseError || (error instanceof ValidationError && error.type !== 'response')) {
        return fail('invalid_request');
      }
      onInternalError(error, request);
      return internalError();
    })
    .options('/*', ({ request }) => preflight.fetch(request))
    .use(createMessages(createBearer({ verifier, onAccepted })))
    .use(createHome({ publicUrl, hasDocumentation }))
    .use(createHealth(readiness));

  if (discovery && publicUrl !== undefined)
    app.use(createResourceMetadata({ ...discovery, publicUrl, scopes: () => scopesOf(app.routes) }));
  if (discovery?.hasDocumentation) app.use(createDocumentation(() => app, { ...discovery, refusalHeaders }));
  if (extension) app.use(extension);
  return app;
}

const jsonHeaders = new Headers({ ...commonHeaders, 'content-type': 'application/json' });

function fail(failure: keyof typeof failures, headers?: Readonly<Record<string, string>>): Response {
  const { status, code, description } = failures[failure];
  return json(status, { code, description }, headers);
}

/** Copying a ready Headers costs a third of making one from an object for each answer. */
function json(status: number, body: object, headers: Readonly<Record<string, unknown>> = {}): Response {
  const response: Response & { isOurs?: true } = new Response(JSON.stringify(body), { status, headers: jsonHeaders });
  for (const name in headers) response.headers.set(name, String(headers[name]));
  response.isOurs = true;
  return response;
}

/** Whether this is an answer of {@link json}. Elysia would copy it to add headers that it has: a third of what a refusal costs. */
function isOurs(value: unknown): boolean {
  return value instanceof Response && 'isOurs' in value;
}

/** Returns the answer to what should not have happened, for when even the application cannot give it. */
export function internalError(): Response {
  return fail('internal_error');
}

/** Whether a handler's value is for JSON: a plain object or a list, not a Response, a file or a stream. */
function isJson(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (value.constructor === Object || Array.isArray(value));
}
