import { type AnyElysia, Elysia } from 'elysia';
import { type CheckedOptions, describeRejections, type Guard, resourceMetadata } from 'protected-api';
import { createHttpPlugin, elysiaOptions, type HttpPluginOptions } from './http/plugin.ts';
import { pagePath } from './openapi/about.ts';
import { createDocumentation, type DocumentationOptions } from './routes/documentation.ts';
import { createHealth, type Readiness } from './routes/health.ts';
import { createHome } from './routes/home.ts';
import { createMessages } from './routes/messages.ts';

/** What clients can discover about the API: its address, and the issuers of its tokens. */
export interface Discovery
  extends Omit<DocumentationOptions, 'rejectionsOf' | 'issuer' | 'audience' | 'publicUrl' | 'dpop'> {
  readonly hasDocumentation: boolean;
}

/** The dependencies of the application, which does no I/O itself and reads no environment. */
export interface Dependencies extends Omit<HttpPluginOptions, 'routes'> {
  readonly guard: Guard;
  /** The options of the guard, which the documents describe. */
  readonly options: CheckedOptions;
  readonly readiness: () => Readiness;
  readonly discovery: Discovery;
  /** Additional routes: those of the embedded issuer. */
  readonly extension?: AnyElysia | undefined;
}

/** The type of the application, for typed clients. */
export type App = ReturnType<typeof createApp>;

/** Returns the application with all routes and error responses of the service, as a Web-standard `fetch(Request): Response`. */
export function createApp({ guard, options, readiness, discovery, extension, ...http }: Dependencies) {
  const { issuer, audience, publicUrl, dpop } = options;
  const { hasDocumentation } = discovery;
  const routes = (): AnyElysia['routes'] => app.routes;

  const app = new Elysia(elysiaOptions)
    .use(createHttpPlugin({ ...http, routes }))
    .use(createMessages(guard))
    .use(createHome({ publicUrl, hasDocumentation, routes }))
    .use(createHealth(readiness));

  if (publicUrl !== undefined) {
    const resourceDocumentation = hasDocumentation ? publicUrl + pagePath : undefined;
    app.use(resourceMetadata({ ...options, publicUrl, resourceDocumentation }));
  }
  if (hasDocumentation) {
    const rejectionsOf = (scopes: readonly string[]) =>
      describeRejections(options, scopes.length > 0 ? { scope: scopes } : {});
    app.use(createDocumentation(() => app, { ...discovery, issuer, audience, publicUrl, dpop, rejectionsOf }));
  }
  if (extension) app.use(extension);
  return app;
}
