import { type AnyElysia, Elysia } from 'elysia';
import { documentPath, name, pagePath, summary } from '../openapi/about.ts';
import { type Home, renderHome } from '../openapi/home.ts';
import { pageHeaders } from '../openapi/layout.ts';

export interface HomeOptions {
  /** URL at which clients reach the API, without a trailing slash; undefined if unknown. */
  readonly publicUrl: string | undefined;
  readonly hasDocumentation: boolean;
  /** Called for each request. */
  readonly routes: () => AnyElysia['routes'];
}

/** Returns `GET /`: the name of the API, its endpoints and links to its documentation, as JSON or HTML by the Accept header. */
export function createHome({ publicUrl = '', hasDocumentation, routes }: HomeOptions) {
  const links = hasDocumentation ? { documentation: publicUrl + pagePath, openapi: publicUrl + documentPath } : {};
  const headers = pageHeaders();

  return new Elysia({ detail: { hide: true } }).get('/', ({ request, set }) => {
    const endpoints = routes()
      .filter(({ method, path, hooks }) => method !== 'OPTIONS' && !path.startsWith('/.') && !hooks.detail?.hide)
      .map(({ method, path, hooks }): Home['endpoints'][number] => ({ method, path, summary: hooks.detail?.summary }));
    set.headers.vary = 'Accept';
    if (!prefersHtml(request.headers.get('accept') ?? '')) return { name, description: summary, ...links, endpoints };
    return new Response(renderHome({ ...links, endpoints }), { headers });
  });
}

/** Browsers list text/html without a lower quality, and JSON or everything only with one. */
function prefersHtml(accept: string): boolean {
  const preferred = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.trim());
  const lists = (...ranges: readonly string[]) => ranges.some((range) => preferred.includes(range));
  return lists('text/html', 'text/*') && !lists('application/json', 'application/*', '*/*');
}
