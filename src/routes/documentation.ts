import { type AnyElysia, Elysia } from 'elysia';
import type { DevelopmentIssuer } from 'protected-api/testing';
import { type DescribedApi, documentPath, pagePath } from '../openapi/about.ts';

export interface DocumentationOptions extends DescribedApi {
  /** Returns the token endpoint, or undefined while it is unknown. Called for each request. */
  readonly tokenEndpoint: () => Promise<string | undefined>;
  /** The page contains its clients' secrets, so it requires a trusted Host. */
  readonly developmentIssuer?: DevelopmentIssuer | undefined;
}

const misdirected = {
  code: 'misdirected_request',
  description: 'Host must be localhost, a loopback address or the host of the issuer',
};

/**
 * Returns the OpenAPI document of `app`, and a page to read it and send requests, to which `/` leads. Both are created
 * on the first request, because most processes never get one, and again after a failure or for another token endpoint.
 */
export function createDocumentation(app: () => AnyElysia, options: DocumentationOptions) {
  const { developmentIssuer: development } = options;
  const create = async (tokenEndpoint: string | undefined) => {
    const [{ createDocument }, { createPage }] = await Promise.all([import('../openapi/document.ts'), loadPage()]);
    const document = createDocument(app(), options, tokenEndpoint);
    return { document, respondPage: createPage(document, options, tokenEndpoint, development?.clients) };
  };
  /** By token endpoint: the assumed one, and that of the metadata. */
  const created = new Map<string | undefined, ReturnType<typeof create>>();
  const load = async () => {
    const tokenEndpoint = await options.tokenEndpoint();
    const documents = created.get(tokenEndpoint) ?? create(tokenEndpoint);
    created.set(tokenEndpoint, documents);
    documents.catch(() => created.delete(tokenEndpoint));
    return documents;
  };

  return (
    new Elysia({ detail: { hide: true } })
      // Relative, because a gateway may add a path.
      .get('/', ({ redirect }) => redirect(pagePath.slice(1), 303))
      .get(documentPath, async () => (await load()).document)
      .get(pagePath, async ({ request, status }) =>
        development?.rejectHost(request) ? status(421, misdirected) : (await load()).respondPage(),
      )
      .get(`${pagePath}/page.js`, async () => (await loadPage()).respondScript('page'))
      .get(`${pagePath}/request.js`, async () => (await loadPage()).respondScript('request'))
      .get(`${pagePath}/token.js`, async () => (await loadPage()).respondScript('token'))
  );
}

const loadPage = () => import('../openapi/page.ts');
