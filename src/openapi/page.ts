import { name } from './about.ts';
import { errorsOf, type RefusalHeaders } from './answers.ts';
import { type AuthorizationOptions, renderDialog } from './authorization-dialog.ts';
import type { OpenApiDocument, Operation, ResponseObject } from './document.ts';
import { type Html, html, paragraphs, renderPage, style } from './layout.ts';
import script from './page/page.js' with { type: 'text' };

export interface PageOptions extends AuthorizationOptions {
  readonly refusalHeaders: RefusalHeaders;
}

/**
 * Returns the page on which the endpoints of `document` are read and tried, with the script and the style that it loads.
 * Its policy lets the browser contact nothing but this service and the token endpoint.
 */
export function createPage(document: OpenApiDocument, options: PageOptions) {
  const { tokenEndpoint, clients } = options;
  const markup = renderPage(head, renderBody(document, options));
  const tokenOrigin = tokenEndpoint === undefined ? [] : [new URL(tokenEndpoint).origin];
  const headers = {
    'content-security-policy': [...policy, `connect-src ${["'self'", ...tokenOrigin].join(' ')}`].join('; '),
    'referrer-policy': 'no-referrer',
    // Any page may call the API, but no page of another origin may read the demo clients' secrets.
    ...(clients && { 'access-control-allow-origin': tokenOrigin[0] ?? 'null' }),
  };
  return {
    page: () => respond('text/html', markup, headers),
    script: () => respond('text/javascript', script),
    style: () => respond('text/css', style),
  };
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const respond = (type: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  new Response(body, { headers: { 'content-type': `${type}; charset=utf-8`, ...headers } });

const head = html`<link rel="stylesheet" href="openapi/page.css">
<script type="module" src="openapi/page.js"></script>`;

function renderBody(document: OpenApiDocument, options: PageOptions): Html {
  const { info, paths } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => renderOperation(method, path, operation, document)),
  );
  return html`<header>
<h1>${name} <small>${info.version}</small></h1>
<p class="lead">${info.summary}</p>
${paragraphs(info.description)}
<noscript><p class="error">Requests can be sent from this page only with JavaScript enabled.</p></noscript>
<div class="authorization">
<button type="button" id="authorize" aria-haspopup="dialog">Authorize</button>
<button type="button" id="forget" class="secondary" hidden>Remove token</button>
<p role="status" id="authorization">No access token: protected endpoints answer with 401.</p>
</div>
</header>
<main>
<h2>Endpoints</h2>
${operations}
<h2>Error codes</h2>
${renderErrorCodes(options.refusalHeaders)}
</main>
<footer><p><a href="openapi/json">OpenAPI document</a> · ${info.license.name} license</p></footer>
${renderDialog(options)}`;
}

function renderOperation(method: string, path: string, operation: Operation, document: OpenApiDocument): Html {
  const {
    operationId,
    summary,
    description = '',
    parameters = [],
    requestBody,
    security = [],
    responses = {},
  } = operation;
  const title = `${method.toUpperCase()} ${path}`;
  const inputs = parameters
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map(
      (parameter) =>
        html`<label>${parameter.name} <input name="${parameter.in} ${parameter.name}"${parameter.required && html` required`}></label>\n`,
    );
  return html`<article aria-labelledby="${operationId}">
<div class="title">
<h3 id="${operationId}"><span class="method">${method.toUpperCase()}</span> <code>${path}</code></h3>
${summary !== undefined && html`<span class="access">${summary}</span>`}
</div>
${paragraphs(description)}
<form class="request" data-method="${method.toUpperCase()}" data-path="${path}"${security.length > 0 && html` data-is-protected`}>
${inputs}${requestBody && html`<label>JSON body <textarea name="body" rows="4"></textarea></label>\n`}<button>Send request<span class="hidden"> ${title}</span></button>
</form>
<div class="answer" role="status" aria-label="Response to ${title}"></div>
<details>
<summary>Responses<span class="hidden"> of ${title}</span></summary>
<dl>
${Object.entries(responses).map(([status, response]) => renderResponse(status, resolve(response, document.components.responses)))}</dl>
</details>
</article>
`;
}

function resolve(response: ResponseObject, shared: Readonly<Record<string, ResponseObject>>): ResponseObject {
  return shared[response.$ref?.replace('#/components/responses/', '') ?? ''] ?? response;
}

function renderResponse(status: string, { description, content }: ResponseObject): Html {
  // Errors that any operation can return are described once, at the top.
  if (status === 'default') return html``;
  const examples = Object.values(content?.['application/json']?.examples ?? {});
  const isError = Number(status) >= 400;
  return html`<dt>${status}</dt>
<dd>${description}${!isError && examples.map(({ value }) => html`<pre>${JSON.stringify(value, null, 2)}</pre>`)}</dd>
`;
}

/** Returns every error code with its status and the descriptions that it comes with. */
function renderErrorCodes(refusalHeaders: RefusalHeaders): Html {
  const byCode = Map.groupBy(
    errorsOf(refusalHeaders).toSorted((a, b) => a.status - b.status),
    ({ status, code }) => `${status} ${code}`,
  );
  const entries = [...byCode].map(
    ([code, outcomes]) =>
      html`<dt><code>${code}</code></dt>\n${outcomes.map(({ description }) => html`<dd>${description}</dd>\n`)}`,
  );
  return html`<dl>\n${entries}</dl>`;
}
