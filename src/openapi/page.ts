import type { Client } from 'protected-api/testing';
import { type DescribedApi, name, version } from './about.ts';
import { type DescribedError, errorsOf } from './described-errors.ts';
import type { OpenApiDocument } from './document.ts';
import { type Html, html, pageHeaders, paragraphs, renderPage } from './layout.ts';
import { renderOperation } from './operation.ts';
import pageScript from './page/page.js' with { type: 'text' };
import tokenScript from './page/token.js' with { type: 'text' };
import { renderDialog } from './token-dialog.ts';

/**
 * Returns a function that responds with the page for reading and trying the endpoints of `document`. Its policy lets the browser
 * contact only this service and the token endpoint.
 * @param clients those of the development issuer, whose credentials anyone who can open the page may use
 */
export function createPage(document: OpenApiDocument, api: DescribedApi, clients: readonly Client[] | undefined) {
  const { paths, components, info } = document;
  const { tokenUrl } = components.securitySchemes.oauth2?.flows.clientCredentials ?? {};
  const tokenOrigin = tokenUrl === undefined ? '' : new URL(tokenUrl).origin;
  // URLs allow hosts with characters that have a meaning in the policy: the page then only accepts an existing token.
  const isUsable = /^https?:\/\/[\w.:[\]-]+$/.test(tokenOrigin);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
  const scopes = [...new Set(operations.flatMap(({ security = [] }) => security.flatMap(({ bearer = [] }) => bearer)))];
  const body = html`<header>
<nav aria-label="Links"><a href="./">Home</a> <a href="openapi/json">OpenAPI document</a></nav>
<h1>${name} <small>${version}</small></h1>
<p class="lead">${info.summary}</p>
${paragraphs(info.description)}
<noscript><p class="error">Enable JavaScript to send requests from this page.</p></noscript>
<p class="buttons"><button type="button" id="get-token" class="get-token" aria-haspopup="dialog">Get a token</button>
<button type="button" id="remove-token" class="secondary" hidden>Remove token</button></p>
<p role="status" id="token">No access token. Protected endpoints return 401.</p>
</header>
<main>
<h2>Endpoints</h2>
${operations.map((operation) => renderOperation(operation, components))}
<details>
<summary><h2>Error codes</h2></summary>
${renderErrorCodes(errorsOf(api, scopes))}
</details>
</main>
${renderDialog(api, scopes, isUsable ? tokenUrl : undefined, clients)}`;
  const markup = renderPage(body, head);
  const headers = {
    ...pageHeaders(["script-src 'self'", `connect-src 'self'${isUsable ? ` ${tokenOrigin}` : ''}`]),
    'referrer-policy': 'no-referrer',
    // Any page may call the API, but no page of another origin may read the demo clients' secrets.
    ...(clients && { 'access-control-allow-origin': tokenOrigin || 'null' }),
  };
  return () => new Response(markup, { headers });
}

const scripts = { page: pageScript, token: tokenScript };

/** Returns a script of the page, which does not depend on the document. */
export const respondScript = (script: keyof typeof scripts) =>
  new Response(scripts[script], { headers: { 'content-type': 'text/javascript; charset=utf-8' } });

const head = html`<link rel="modulepreload" href="openapi/token.js">
<script type="module" src="openapi/page.js"></script>`;

/** Returns every error code with its status and the descriptions that it comes with. */
function renderErrorCodes(errors: readonly DescribedError[]): Html {
  const byCode = Map.groupBy(
    errors.toSorted((a, b) => a.status - b.status),
    ({ code }) => code,
  );
  const entries = [...byCode].map(([code, outcomes]) => {
    const statuses = [...new Set(outcomes.map(({ status }) => status))].join(', ');
    const items = outcomes.map(({ description }) => html`<li>${description}</li>\n`);
    return html`<dt id="${code}">${statuses} ${code}</dt>\n<dd><ul>\n${items}</ul></dd>\n`;
  });
  return html`<dl>\n${entries}</dl>`;
}
