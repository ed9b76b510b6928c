import { type AnyElysia, Elysia } from 'elysia';
import { anchorOf, documentPath, name, pagePath, summary } from '../openapi/about.ts';
import { html, pageHeaders, renderPage, renderRoute } from '../openapi/layout.ts';

/**
 * Returns `GET /`: the name of the API, its endpoints and links to its documentation, as JSON or HTML by the Accept header.
 * @param routes called for each request
 * @param baseUrl of the documentation, without a trailing slash; undefined if there is none
 */
export function createHome(routes: () => AnyElysia['routes'], baseUrl: string | undefined) {
  const links =
    baseUrl === undefined ? undefined : { documentation: baseUrl + pagePath, openapi: baseUrl + documentPath };
  const headers = pageHeaders();

  return new Elysia({ detail: { hide: true } }).get('/', ({ request, set }) => {
    const endpoints = routes()
      .filter(({ method, path, hooks }) => method !== 'OPTIONS' && !path.startsWith('/.') && !hooks.detail?.hide)
      .map(({ method, path, hooks }) => ({ method, path, summary: hooks.detail?.summary }));
    set.headers.vary = 'Accept';
    if (!prefersHtml(request.headers.get('accept') ?? '')) return { name, description: summary, ...links, endpoints };
    const items = endpoints.map(({ method, path, summary: access }) => {
      const content = html`<span>${renderRoute(method, path)}</span> <span class="access">${access}</span>`;
      if (links === undefined) return html`<li><div class="box title">${content}</div></li>\n`;
      return html`<li><a class="box title" href="${links.documentation}#${anchorOf(method, path)}">${content}</a></li>\n`;
    });
    const body = html`<header>
<h1>${name}</h1>
<p class="lead">${summary}</p>
${links && html`<p class="buttons"><a class="button" href="${links.documentation}">Documentation</a> <a href="${links.openapi}">OpenAPI document</a></p>`}
</header>
<main>
<h2>Endpoints</h2>
<ul class="endpoints">
${items}</ul>
</main>`;
    return new Response(renderPage(body), { headers });
  });
}

/** Browsers accept text/html with full quality, and JSON or anything else only with a lower one. */
function prefersHtml(accept: string): boolean {
  const preferred = Array.from(accept.toLowerCase().split(','), (range) => range.trim());
  const lists = (...ranges: readonly string[]) => ranges.some((range) => preferred.includes(range));
  return lists('text/html', 'text/*') && !lists('application/json', 'application/*', '*/*');
}
