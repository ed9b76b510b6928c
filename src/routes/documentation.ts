import { type AnyElysia, Elysia } from 'elysia';
import { scopesOf } from '../auth/elysia/schema.ts';
import type { DpopMode } from '../auth/proof/schemes.ts';
import { isTrustedHost, untrustedHost } from '../http/trusted-host.ts';
import { documentPath, pagePath } from '../openapi/about.ts';
import type { RefusalHeaders } from '../openapi/answers.ts';
import type { Client } from '../openapi/authorization-dialog.ts';

export interface DocumentationOptions {
  readonly issuer: readonly string[];
  readonly audience: readonly string[];
  /** Address at which clients reach the API; undefined if unknown. */
  readonly publicUrl: string | undefined;
  /** `off` by default. */
  readonly dpop?: DpopMode | undefined;
  readonly refusalHeaders: RefusalHeaders;
  /** Returns the token endpoint in the metadata of the issuer, or undefined if it is unknown. Called once. */
  readonly tokenEndpoint?: (() => Promise<string | undefined>) | undefined;
  /** The clients of the embedded issuer. The page contains their secrets, so it requires a trusted Host. */
  readonly clients?: readonly Client[] | undefined;
}

const misdirected = { code: 'misdirected_request', description: untrustedHost };

/**
 * Returns the OpenAPI document of `app`, and a page to read it and send requests. Both are created, and their modules
 * loaded, on the first request, because most processes never get one.
 */
export function createDocumentation(app: () => AnyElysia, options: DocumentationOptions) {
  const {
    issuer: [issuer = ''],
    clients,
  } = options;
  const getTokenEndpoint = memoize(async () => {
    const named = await options.tokenEndpoint?.();
    if (named !== undefined && URL.canParse(named)) return named;
    return issuer.endsWith('/') ? `${issuer}oauth/token` : undefined;
  });
  const getDocument = memoize(async () => {
    const { createDocument } = await import('../openapi/document.ts');
    return createDocument(app(), { ...options, tokenEndpoint: await getTokenEndpoint() });
  });
  const getPage = memoize(async () => {
    const { createPage } = await import('../openapi/page.ts');
    const scopes = scopesOf(app().routes);
    const [audience = ''] = options.audience;
    return createPage(await getDocument(), { ...options, audience, tokenEndpoint: await getTokenEndpoint(), scopes });
  });

  return new Elysia({ detail: { hide: true } })
    .get(documentPath, async () => getDocument())
    .get(pagePath, async ({ request, status }) => {
      if (clients && !isTrustedHost(request, issuer)) return status(421, misdirected);
      return (await getPage()).page();
    })
    .get(`${pagePath}/page.css`, async () => (await getPage()).style())
    .get(`${pagePath}/page.js`, async () => (await getPage()).script());
}

/** Returns a function that calls `make` once, and again only after a failure. */
function memoize<Thing>(make: () => Promise<Thing>): () => Promise<Thing> {
  let made: Promise<Thing> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
