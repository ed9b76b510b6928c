import { anchorOf, name, summary } from './about.ts';
import { html, renderPage, renderRoute } from './layout.ts';

/** What the API says about itself at `/`, besides its name. */
export interface Home {
  /** URL of the documentation page. */
  readonly documentation?: string;
  /** URL of the OpenAPI document. */
  readonly openapi?: string;
  readonly endpoints: readonly {
    readonly method: string;
    readonly path: string;
    readonly summary: string | undefined;
  }[];
}

/** Returns the home page. Each endpoint is a link to its documentation, if there is any. */
export function renderHome({ documentation, openapi, endpoints }: Home): string {
  const items = endpoints.map(({ method, path, summary: access }) => {
    const content = html`<span>${renderRoute(method, path)}</span> <span class="access">${access}</span>`;
    if (documentation === undefined) return html`<li><div class="box title">${content}</div></li>\n`;
    return html`<li><a class="box title" href="${documentation}#${anchorOf(method, path)}">${content}</a></li>\n`;
  });
  return renderPage(html`<header>
<h1>${name}</h1>
<p class="lead">${summary}</p>
${documentation !== undefined && html`<p class="buttons"><a class="button" href="${documentation}">Documentation</a> <a href="${openapi}">OpenAPI document</a></p>`}
</header>
<main>
<h2>Endpoints</h2>
<ul class="endpoints">
${items}</ul>
</main>`);
}
