import { type AnyElysia, Elysia } from 'elysia';
import { resourceMetadata, resourceMetadataUrl } from './auth/elysia/resource-metadata.ts';
import type { Guard } from './auth/elysia/resource-server.ts';
import { exampleHeaders } from './auth/refusals.ts';
import { createHttpPlugin, elysiaOptions, type HttpPluginOptions } from './http/plugin.ts';
import { pagePath } from './openapi/about.ts';
import type { RefusalHeaders } from './openapi/answers.ts';
import { createDocumentation, type DocumentationOptions } from './routes/documentation.ts';
import { createHealth, type Readiness } from './routes/health.ts';
import { createHome } from './routes/home.ts';
import { createMessages } from './routes/messages.ts';

/** What clients can discover about the API: its address, and the issuers of its tokens. */
export interface Discovery extends Omit<DocumentationOptions, 'refusalHeaders'> {
  readonly hasDocumentation: boolean;
  /** Whether an issuer may have a plain http address. */
  readonly jwksAllowHttp?: boolean;
}

/** The dependencies of the application, which does no I/O itself and reads no environment. */
export interface Dependencies extends Omit<HttpPluginOptions, 'routes'> {
  readonly guard: Guard['plugin'];
  readonly readiness: () => Readiness;
  readonly discovery: Discovery;
  /** Additional routes: those of the embedded issuer. */
  readonly extension?: AnyElysia | undefined;
}

/** The type of the application, for typed clients. */
export type App = ReturnType<typeof createApp>;

/** Returns the application with all routes and error responses of the service, as a Web-standard `fetch(Request): Response`. */
export function createApp({ guard, readiness, discovery, extension, ...http }: Dependencies) {
  const { publicUrl, hasDocumentation, dpop = 'off' } = discovery;
  const challenges = { dpop, resourceMetadata: publicUrl === undefined ? undefined : resourceMetadataUrl(publicUrl) };
  const routes = (): AnyElysia['routes'] => app.routes;

  const app = new Elysia(elysiaOptions)
    .use(createHttpPlugin({ ...http, routes }))
    .use(createMessages(guard))
    .use(createHome({ publicUrl, hasDocumentation, routes }))
    .use(createHealth(readiness));

  if (publicUrl !== undefined) {
    const { issuer, audience, jwksAllowHttp } = discovery;
    const resourceDocumentation = hasDocumentation ? publicUrl + pagePath : undefined;
    app.use(resourceMetadata({ issuer, audience, publicUrl, dpop, jwksAllowHttp, resourceDocumentation }));
  }
  if (hasDocumentation) {
    const refusalHeaders: RefusalHeaders = (reason, detail) => exampleHeaders(reason, detail, challenges);
    app.use(createDocumentation(() => app, { ...discovery, refusalHeaders }));
  }
  if (extension) app.use(extension);
  return app;
}
