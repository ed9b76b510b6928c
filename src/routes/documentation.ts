import { type AnyElysia, Elysia } from 'elysia';
import { scopesOf } from '../auth/resource-server.ts';
import { isTrustedHost } from '../http/trusted-host.ts';
import type { DocumentOptions } from '../openapi/document.ts';
import type { PageOptions } from '../openapi/page.ts';

export type DocumentationOptions = Omit<DocumentOptions & PageOptions, 'tokenEndpoint' | 'scopes'>;

const misdirected = {
  code: 'misdirected_request',
  description: 'Host must be localhost, a loopback address or the host of PUBLIC_URL',
};

/**
 * Returns the OpenAPI document of `app` at `/openapi/json` and a page to read and try it at `/openapi`. What makes them
 * is loaded, and they are made, when someone first asks for them: most processes are never asked.
 */
export function createDocumentation(app: () => AnyElysia, options: DocumentationOptions) {
  // `{auth_url}/oauth/token`; an issuer that keeps its keys elsewhere may lack the slash at its end.
  const tokenEndpoint = `${options.issuer.replace(/\/$/, '')}/oauth/token`;
  const getDocument = once(async () => {
    const { createDocument } = await import('../openapi/document.ts');
    return createDocument(app(), { ...options, tokenEndpoint });
  });
  const getPage = once(async () => {
    const { createPage } = await import('../openapi/page.ts');
    return createPage({ ...options, tokenEndpoint, scopes: scopesOf(app().routes) });
  });

  return new Elysia({ detail: { hide: true } })
    .get('/openapi/json', async () => getDocument())
    .get('/openapi', async ({ request, status }) => {
      // The page holds the secret of the embedded issuer's client.
      if (options.client && !isTrustedHost(request, options.issuer)) return status(421, misdirected);
      return (await getPage()).answer();
    })
    .get('/openapi/page.css', async ({ request }) => (await getPage()).style.answer(request))
    .get('/openapi/page.js', async ({ request }) => (await getPage()).script.answer(request));
}

/** Makes a thing when it is first asked for, and again only after a failure. */
function once<Thing>(make: () => Promise<Thing>): () => Promise<Thing> {
  let made: Promise<Thing> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
