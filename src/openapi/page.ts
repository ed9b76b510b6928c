import { createHash } from 'node:crypto';
import type { Client } from 'protected-api/testing';
import { type DescribedApi, license, name, version } from './about.ts';
import { type DescribedError, errorsOf } from './described-errors.ts';
import type { OpenApiDocument } from './document.ts';
import { Html, html, paragraphs } from './html.ts';
import { renderOperation } from './operation.ts';
import style from './page/page.css' with { type: 'text' };
import pageScript from './page/page.js' with { type: 'text' };
import requestScript from './page/request.js' with { type: 'text' };
import tokenScript from './page/token.js' with { type: 'text' };
import { renderDialog } from './token-dialog.ts';

/**
 * Returns a function that responds with the page for reading and trying the endpoints of `document`. Its policy lets
 * the browser contact only this service and the token endpoint.
 * @param tokenUrl the token endpoint, which the document does not name if tokens must be bound to a key
 * @param clients those of the development issuer, whose credentials anyone who can open the page may use
 */
export function createPage(
  document: OpenApiDocument,
  api: DescribedApi,
  tokenUrl: string | undefined,
  clients: readonly Client[] | undefined,
) {
  const { paths, components, info } = document;
  const tokenOrigin = tokenUrl === undefined ? '' : new URL(tokenUrl).origin;
  // URLs allow hosts with characters that have a meaning in the policy: the page then only accepts an existing token.
  const isUsable = /^https?:\/\/[\w.:[\]-]+$/.test(tokenOrigin);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
  const scopes = [
    ...new Set(
      operations.flatMap(({ security = [] }) => security.flatMap((required) => Object.values(required).flat())),
    ),
  ];
  const { markup } = renderPage(html`<header>
<div class="title">
<h1>${name} <small>${version}</small></h1>
<a href="openapi/json">OpenAPI document</a>
</div>
<p class="lead">${info.summary}</p>
${paragraphs(info.description)}
<noscript><p class="error">Enable JavaScript to send requests from this page.</p></noscript>
${tokenPanel}</header>
<main>
<h2>Endpoints</h2>
${operations.map((operation) => renderOperation(operation, components))}
<details>
<summary><h2>Error codes</h2></summary>
${renderErrorCodes(errorsOf(api, scopes))}
</details>
</main>
${renderDialog(api, scopes, isUsable ? tokenUrl : undefined, clients)}`);
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': [...policy, `connect-src 'self'${isUsable ? ` ${tokenOrigin}` : ''}`].join('; '),
    'referrer-policy': 'no-referrer',
    // Any page may call the API, but no page of another origin may read the demo clients' secrets.
    ...(clients && { 'access-control-allow-origin': tokenOrigin || 'null' }),
  };
  return () => new Response(markup, { headers });
}

const scripts = { page: pageScript, request: requestScript, token: tokenScript };

/** Returns a script of the page, which does not depend on the document. */
export const respondScript = (script: keyof typeof scripts) =>
  new Response(scripts[script], { headers: { 'content-type': 'text/javascript; charset=utf-8' } });

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "script-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%231d4ed8'/%3E%3Cpath d='M5 7V5.5a3 3 0 0 1 6 0V7h.5v5h-7V7zm1.5 0h3V5.5a1.5 1.5 0 0 0-3 0z' fill='%23fff'/%3E%3C/svg%3E";

/** The style is inline, because the first paint would wait for a file. */
const renderPage = (body: Html) => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="${icon}">
${new Html(`<style>${style}</style>`)}
<link rel="modulepreload" href="openapi/request.js">
<link rel="modulepreload" href="openapi/token.js">
<script type="module" src="openapi/page.js"></script>
</head>
<body>
${body}
<footer>${name} ${version} · ${license} license</footer>
</body>
</html>
`;

const tokenPanel = html`<section class="box" id="token" aria-label="Access token">
<p><span role="status">No access token. Protected endpoints return 401.</span><span class="expiry"></span></p>
<div class="buttons"><button type="button" class="use-token" aria-haspopup="dialog">Use a token</button>
<button type="button" id="remove-token" hidden>Remove<span class="hidden"> token</span></button>
<details hidden>
<summary>Claims</summary>
<pre></pre>
</details></div>
</section>
`;

/** Returns every error code with its status and the descriptions that it comes with. */
function renderErrorCodes(errors: readonly DescribedError[]): Html {
  const byCode = Map.groupBy(
    errors.toSorted((a, b) => a.status - b.status),
    ({ code }) => code,
  );
  const entries = [...byCode].map(([code, outcomes]) => {
    const statuses = [...new Set(outcomes.map(({ status }) => status))].join(', ');
    const items = outcomes.map(({ description }) => html`<li>${description}</li>\n`);
    return html`<div id="${code}">\n<dt>${statuses} ${code}</dt>\n<dd><ul>\n${items}</ul></dd>\n</div>\n`;
  });
  return html`<dl>\n${entries}</dl>`;
}
