import { type AnyElysia, Elysia } from 'elysia';
import { type GuardOptions, scopesOf } from 'protected-api';
import type { DevelopmentIssuer } from 'protected-api/testing';
import { documentPath, pagePath } from '../openapi/about.ts';
import type { RejectionsOf } from '../openapi/described-errors.ts';

export interface DocumentationOptions {
  readonly issuer: readonly string[];
  readonly audience: readonly string[];
  /** URL at which clients reach the API; undefined if unknown. */
  readonly publicUrl: string | undefined;
  /** `off` by default. */
  readonly dpop?: GuardOptions['dpop'];
  readonly rejectionsOf: RejectionsOf;
  /** Returns the token endpoint, or undefined if it is unknown. Called for each request, because it can become known later. */
  readonly tokenEndpoint: () => Promise<string | undefined>;
  /** Its token endpoint replaces the other. The page contains its clients' secrets, so it requires a trusted Host. */
  readonly developmentIssuer?: DevelopmentIssuer | undefined;
}

const misdirected = {
  code: 'misdirected_request',
  description: 'Host must be localhost, a loopback address or the host of the issuer',
};

/**
 * Returns the OpenAPI document of `app`, and a page to read it and send requests. Both are created, and their modules
 * loaded, on the first request, because most processes never get one.
 */
export function createDocumentation(app: () => AnyElysia, options: DocumentationOptions) {
  const { developmentIssuer: development } = options;
  const tokenEndpoint = development
    ? async () => development.options.issuer.replace(/\/$/, '') + development.endpoints.token
    : options.tokenEndpoint;
  const getDocument = memoize(async (tokenEndpoint) => {
    const { createDocument } = await import('../openapi/document.ts');
    return createDocument(app(), { ...options, tokenEndpoint });
  });
  const getPage = memoize(async (tokenEndpoint) => {
    const { createPage } = await loadPage();
    const scopes = scopesOf(app().routes);
    const [audience = ''] = options.audience;
    const document = await getDocument(tokenEndpoint);
    return createPage(document, { ...options, clients: development?.clients, audience, tokenEndpoint, scopes });
  });

  return new Elysia({ detail: { hide: true } })
    .get(documentPath, async () => getDocument(await tokenEndpoint()))
    .get(pagePath, async ({ request, status }) => {
      if (development?.refuseHost(request)) return status(421, misdirected);
      return (await getPage(await tokenEndpoint()))();
    })
    .get(`${pagePath}/page.js`, async () => (await loadPage()).respondPageScript())
    .get(`${pagePath}/token.js`, async () => (await loadPage()).respondTokenScript());
}

const loadPage = () => import('../openapi/page.ts');

type Make<Thing> = (tokenEndpoint: string | undefined) => Promise<Thing>;

/** Returns a function that calls `make` once for a token endpoint, and again only after a failure or for another one. */
function memoize<Thing>(make: Make<Thing>): Make<Thing> {
  let made: { readonly tokenEndpoint: string | undefined; readonly thing: Promise<Thing> } | undefined;
  return (tokenEndpoint) => {
    if (made && made.tokenEndpoint === tokenEndpoint) return made.thing;
    const thing = make(tokenEndpoint).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    made = { tokenEndpoint, thing };
    return thing;
  };
}
