import { type AnyElysia, Elysia } from 'elysia';
import { resourceMetadata, scopesOf } from 'protected-api';
import type { DevelopmentIssuer } from 'protected-api/testing';
import { createHttpPlugin, elysiaOptions, type HttpPluginOptions } from './http/plugin.ts';
import { type DescribedApi, pagePath } from './openapi/about.ts';
import { createDocumentation } from './routes/documentation.ts';
import { createHealth, type Readiness } from './routes/health.ts';
import { createHome } from './routes/home.ts';
import { createMessages } from './routes/messages.ts';

/** The dependencies of the application, which does no I/O itself and reads no environment. A test gives it others. */
export interface Dependencies extends DescribedApi, Omit<HttpPluginOptions, 'routes'> {
  readonly readiness: () => Readiness;
  /** Whether the OpenAPI document and its page are served. */
  readonly hasDocumentation: boolean;
  /** Returns the token endpoint, or undefined if it is unknown. Not called with a development issuer. */
  readonly tokenEndpoint: () => Promise<string | undefined>;
  /** Returns the development issuer, which can grant these scopes: those of the routes. */
  readonly createIssuer?: ((scopes: () => readonly string[]) => DevelopmentIssuer) | undefined;
}

/** The type of the application, for typed clients. */
export type App = ReturnType<typeof createApp>;

/** Returns the application with all routes and error responses of the service, as a Web-standard `fetch(Request): Response`. */
export function createApp(dependencies: Dependencies) {
  const { guard, options, readiness, hasDocumentation, tokenEndpoint, createIssuer, ...http } = dependencies;
  const { publicUrl } = options;
  const baseUrl = hasDocumentation ? (publicUrl ?? '') : undefined;
  const resourceDocumentation = baseUrl === undefined ? undefined : baseUrl + pagePath;
  const metadata = publicUrl === undefined ? undefined : resourceMetadata(guard, { resourceDocumentation });
  const app = new Elysia(elysiaOptions);
  const routes = (): AnyElysia['routes'] => app.routes;
  // The route of the metadata takes every method, but only to respond with a 405 of its own.
  const isReadOnly = (path: string) => metadata?.routes.some((route) => route.path === path);
  const servedRoutes = () => routes().map(({ method, path }) => ({ method: isReadOnly(path) ? 'GET' : method, path }));
  const complete = app
    .use(createHttpPlugin({ ...http, routes: servedRoutes }))
    .use(createMessages(guard))
    .use(createHome(routes, baseUrl))
    .use(createHealth(readiness));
  if (metadata) app.use(metadata);

  const developmentIssuer = createIssuer?.(() => scopesOf(routes()));
  if (hasDocumentation) app.use(createDocumentation(() => app, { guard, options, tokenEndpoint, developmentIssuer }));
  if (developmentIssuer) app.use(createIssuerRoutes(developmentIssuer));
  return complete;
}

/** Returns the endpoints of the development issuer. */
export function createIssuerRoutes({ endpoints, fetch }: DevelopmentIssuer) {
  return new Elysia({ detail: { hide: true } })
    .get(endpoints.keySet, ({ request }) => fetch(request))
    .get(endpoints.metadata, ({ request }) => fetch(request))
    .post(endpoints.token, ({ request }) => fetch(request), { parse: 'none' });
}
