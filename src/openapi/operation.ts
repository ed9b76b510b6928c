import { type Operation, type ResponseObject, requiredScopes } from './about.ts';
import type { OpenApiDocument } from './document.ts';
import { type Html, html, inline, paragraphs } from './html.ts';

type Components = OpenApiDocument['components'];
type DescribedOperation = Operation & { readonly method: string; readonly path: string };

/** Returns an operation of the document: its description, the form that sends a request, and its responses. */
export function renderOperation(operation: DescribedOperation, { responses: shared }: Components): Html {
  const { method, path, summary, description = '', parameters = [], requestBody } = operation;
  const { security = [], responses = {} } = operation;
  const anchor = method + path.replace(/[^\w/.-]/g, '');
  const verb = method.toUpperCase();
  const title = html`<span class="hidden"> ${verb} ${path}</span>`;
  const scopes = requiredScopes(operation);
  const words = (summary ?? '').split(' ').map((word) => (scopes.includes(word) ? `\`${word}\`` : word));
  const inputs = parameters
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map(
      (parameter) =>
        html`<label>${parameter.name} <input name="${parameter.in} ${parameter.name}"${parameter.required && html` required`}></label>\n`,
    );
  return html`<article class="box" id="${anchor}" aria-label="${verb} ${path}">
<div class="title">
<h3><a href="#${anchor}"><code class="method">${verb}</code> <code>${path}</code></a></h3>
<span class="access">${inline(words.join(' '))}</span>
</div>
${paragraphs(description)}
<form class="request" data-method="${verb}" data-path="${path}"${security.length > 0 && html` data-is-protected`}>
${inputs}${requestBody && html`<label>JSON body <textarea name="body" rows="4"></textarea></label>\n`}<button>Send request${title}</button>
</form>
<div class="response" role="status" aria-label="Response to ${verb} ${path}"></div>
<div class="sent" hidden>
<p class="buttons"><button type="button" class="use-token" aria-haspopup="dialog" data-scope="${scopes.join(' ')}">Use a token${scopes.length > 0 && html` with${scopes.map((scope) => html` <code>${scope}</code>`)}`}</button>
<button type="button" class="copy">Copy as curl${title}</button> <span role="status"></span></p>
<details>
<summary>Request as sent${title}</summary>
<pre></pre>
</details>
</div>
<details>
<summary>Responses<span class="hidden"> of ${verb} ${path}</span></summary>
<dl>
${Object.entries(responses).map(([status, response]) => renderResponse(status, shared[response.$ref?.split('/').at(-1) ?? ''] ?? response))}</dl>
</details>
</article>
`;
}

/** Returns a response with its first example as the server sends it, and links to the other error codes. */
function renderResponse(status: string, { description, headers = {}, content }: ResponseObject): Html {
  // Errors that any operation can return are described once, at the end.
  if (status === 'default') return html``;
  const examples = Object.entries(content?.['application/json']?.examples ?? {});
  const [, ...otherCodes] = new Set(examples.map(([, { value }]) => codeOfBody(value)));
  const others = otherCodes.map((code, index) => html`${index > 0 && ','} <a href="#${code}"><code>${code}</code></a>`);
  const [example] = examples.map(([name, { value }]) => {
    const sent = Object.entries(headers).flatMap(([header, { examples: values }]) => {
      const text = values?.[name]?.value;
      return text === undefined ? [] : [`${header}: ${text}\n`];
    });
    return html`<pre>${[...sent, JSON.stringify(value, null, 2)].join('\n')}</pre>`;
  });
  return html`<dt>${status}</dt>
<dd>${description}${example}${others.length > 0 && html`Other codes:${others}`}</dd>
`;
}

/** Only errors have a code. */
const codeOfBody = (body: unknown): string | undefined => Object(body).code;
