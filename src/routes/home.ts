import { createHash } from 'node:crypto';
import { type AnyElysia, Elysia } from 'elysia';
import { documentPath, name, pagePath, summary } from '../openapi/about.ts';
import { html, renderPage, style, styleElement } from '../openapi/layout.ts';

export interface HomeOptions {
  /** Address at which clients reach the API, without a trailing slash; undefined if unknown. */
  readonly publicUrl: string | undefined;
  readonly hasDocumentation: boolean;
  /** Called for each request. */
  readonly routes: () => AnyElysia['routes'];
}

interface Home {
  readonly documentation?: string;
  readonly openapi?: string;
  readonly endpoints: readonly {
    readonly method: string;
    readonly path: string;
    readonly summary: string | undefined;
  }[];
}

/** Returns `GET /`: the name of the API, its endpoints and links to its documentation, as JSON or HTML by the Accept header. */
export function createHome({ publicUrl = '', hasDocumentation, routes }: HomeOptions) {
  const links = hasDocumentation ? { documentation: publicUrl + pagePath, openapi: publicUrl + documentPath } : {};
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': renderPolicy() };

  return new Elysia({ detail: { hide: true } }).get('/', ({ request, set }) => {
    const endpoints = routes()
      .filter(({ method, path, hooks }) => method !== 'OPTIONS' && !path.startsWith('/.') && !hooks.detail?.hide)
      .map(({ method, path, hooks }): { method: string; path: string; summary: string | undefined } => ({
        method,
        path,
        summary: hooks.detail?.summary,
      }));
    set.headers.vary = 'Accept';
    if (!prefersHtml(request.headers.get('accept') ?? '')) return { name, description: summary, ...links, endpoints };
    return new Response(renderHome({ ...links, endpoints }), { headers });
  });
}

/** Browsers list text/html without a lower quality, and JSON or everything only with one. */
function prefersHtml(accept: string): boolean {
  const preferred = accept.toLowerCase().split(/ *, */);
  const lists = (...ranges: readonly string[]) => ranges.some((range) => preferred.includes(range));
  return lists('text/html', 'text/*') && !lists('application/json', 'application/*', '*/*');
}

function renderPolicy(): string {
  const styleHash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

function renderHome({ documentation, openapi, endpoints }: Home): string {
  const items = endpoints.map(
    (endpoint) =>
      html`<li><span><span class="method">${endpoint.method}</span> <code>${endpoint.path}</code></span> <span class="access">${endpoint.summary}</span></li>\n`,
  );
  return renderPage(
    styleElement,
    html`<header>
<h1>${name}</h1>
<p class="lead">${summary}</p>
${documentation !== undefined && html`<p class="buttons"><a class="button" href="${documentation}">Documentation</a> <a href="${openapi}">OpenAPI document</a></p>`}
</header>
<main>
<h2>Endpoints</h2>
<ul class="endpoints">
${items}</ul>
</main>`,
  );
}
