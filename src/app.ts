import { type AnyElysia, Elysia } from 'elysia';
import { resourceMetadata } from 'protected-api/elysia';
import type { DevelopmentIssuer } from 'protected-api/testing';
import { createHttpPlugin, elysiaOptions, type HttpPluginOptions } from './http/plugin.ts';
import { sentPathOf } from './http/route-table.ts';
import { pagePath, publicUrlOf } from './openapi/about.ts';
import { createDocumentation, type DocumentationOptions } from './routes/documentation.ts';
import { createHealth, type Readiness } from './routes/health.ts';
import { createMessages } from './routes/messages.ts';

/** The dependencies of the application, which does no I/O itself and reads no environment. A test gives it others. */
export interface Dependencies extends DocumentationOptions, Omit<HttpPluginOptions, 'routes'> {
  readonly readiness: () => Readiness;
  /** Whether the OpenAPI document and its page are served. */
  readonly hasDocumentation: boolean;
}

/** The type of the application, for typed clients. */
export type App = ReturnType<typeof createApp>;

/** Returns the application with all routes and error responses, as a Web-standard `fetch(Request): Response`. */
export function createApp(dependencies: Dependencies) {
  const { guard, options, readiness, hasDocumentation, tokenEndpoint, developmentIssuer, ...http } = dependencies;
  const publicUrl = publicUrlOf(options);
  // Swagger UI and MCP clients send headers of their own.
  const respondPreflight = (request: Request) =>
    guard.metadata(request) ??
    (Object.values<string | undefined>(developmentIssuer?.endpoints ?? {}).includes(sentPathOf(request.url))
      ? developmentIssuer?.fetch(request)
      : undefined);
  const app = new Elysia(elysiaOptions);
  const routes = (): AnyElysia['routes'] => app.routes;
  const complete = app
    .use(createHttpPlugin({ ...http, routes, respondPreflight }))
    .use(createMessages(guard))
    .use(createHealth(readiness));
  if (publicUrl !== undefined)
    app.use(resourceMetadata(guard, { resourceDocumentation: hasDocumentation ? publicUrl + pagePath : undefined }));
  if (hasDocumentation) app.use(createDocumentation(() => app, { guard, options, tokenEndpoint, developmentIssuer }));
  if (developmentIssuer) app.use(createIssuerRoutes(developmentIssuer));
  return complete;
}

/** Returns the endpoints of the development issuer. */
export function createIssuerRoutes({ endpoints, fetch }: DevelopmentIssuer) {
  return new Elysia({ detail: { hide: true } })
    .get(endpoints.keySet, ({ request }) => fetch(request))
    .get(endpoints.metadata, ({ request }) => fetch(request))
    .get(endpoints.authorization, ({ request }) => fetch(request))
    .post(endpoints.token, ({ request }) => fetch(request));
}
