import { type AnyElysia, Elysia } from 'elysia';
import { createRefusalHeaders, type RefusalReason, RefusedError, refusals } from './auth/refusal.ts';
import { createBearer, scopesOf } from './auth/resource-server.ts';
import type { Claims, Verifier } from './auth/verifier.ts';
import { type CommonHeaders, createAnswers, createCommonHeaders } from './http/answers.ts';
import { createHttpPlugin, elysiaOptions, type HttpPluginOptions, sendUncopied } from './http/plugin.ts';
import type { DemoClient } from './openapi/authorization-dialog.ts';
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
  /** Returns the token endpoint in the metadata of the issuer; undefined when they are unknown. */
  readonly tokenEndpoint?: (() => Promise<string | undefined>) | undefined;
  /** The clients of the embedded issuer, whose credentials anyone who opens the documentation may use. */
  readonly clients?: readonly DemoClient[] | undefined;
}

/** What the application needs from outside; it does no I/O of its own and reads no environment. */
export interface Dependencies extends Pick<HttpPluginOptions, 'onInternalError' | 'observe'> {
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly readiness: () => Readiness;
  /** Headers of every response; those of {@link createCommonHeaders} by default. */
  readonly commonHeaders?: CommonHeaders;
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
  const { verifier, readiness, onInternalError, observe, onAccepted, onRefused, discovery, extension } = dependencies;
  const { commonHeaders = createCommonHeaders() } = dependencies;
  const { publicUrl, hasDocumentation = false } = discovery ?? {};
  const refusalHeaders = createRefusalHeaders(publicUrl === undefined ? undefined : resourceMetadataUrl(publicUrl));
  const { json } = createAnswers(commonHeaders);

  const app = new Elysia(elysiaOptions)
    .onError(({ error, request, set }) => {
      if (!(error instanceof RefusedError)) return undefined;
      sendUncopied(set);
      onRefused?.(request, error.reason);
      const { status, code, description } = refusals[error.reason];
      const response = json(status, { code, description });
      for (const [name, value] of Object.entries(refusalHeaders(error))) response.headers.set(name, value);
      return response;
    })
    .use(createHttpPlugin({ commonHeaders, onInternalError, observe, routes: (): AnyElysia['routes'] => app.routes }))
    .use(createMessages(createBearer({ verifier, onAccepted })))
    .use(createHome({ publicUrl, hasDocumentation, routes: (): AnyElysia['routes'] => app.routes }))
    .use(createHealth(readiness));

  if (discovery && publicUrl !== undefined)
    app.use(createResourceMetadata({ ...discovery, publicUrl, scopes: () => scopesOf(app.routes) }));
  if (discovery?.hasDocumentation) app.use(createDocumentation(() => app, { ...discovery, refusalHeaders }));
  if (extension) app.use(extension);
  return app;
}
