// Runs in the browser: gets a token, sends requests and shows the responses.
import { createElement, credentialsOf, describeToken, isolate, readPasted, requestToken } from './token.js';

/** @typedef {import('./token.js').Token} Token */
/**
 * `provedUrl` is the URL in the proof: that of the API, which may differ from that of this page.
 * @typedef {{ method: string, url: string, provedUrl: string, body: string | null, token: Token | undefined }} Message
 */

/** @type {<Type extends Element>(type: new () => Type, selector: string, parent?: ParentNode) => Type} */
const find = (type, selector, parent = document) => {
  const element = parent.querySelector(selector);
  if (!(element instanceof type)) throw new TypeError(`No ${selector} on this page`);
  return element;
};

const dialog = find(HTMLDialogElement, 'dialog');
const form = find(HTMLFormElement, 'dialog form');
const problem = find(HTMLElement, 'dialog .error');
const description = find(HTMLElement, '#token');
const getToken = find(HTMLElement, '#get-token');
const removeToken = find(HTMLElement, '#remove-token');
const withoutToken = description.textContent;

/** Kept in memory only. @type {Token | undefined} */
let accessToken;

/** @type {(token: Token | undefined) => void} */
function setToken(token) {
  accessToken = token;
  description.replaceChildren(...(token ? describeToken(token) : [withoutToken]));
  getToken.classList.toggle('secondary', token !== undefined);
  removeToken.hidden = token === undefined;
  for (const button of document.querySelectorAll('.request button'))
    button.classList.toggle('secondary', token === undefined);
}

for (const button of document.querySelectorAll('.get-token'))
  button.addEventListener('click', () => {
    showFields();
    dialog.showModal();
    find(HTMLElement, 'dialog input:checked, dialog textarea').focus();
  });

removeToken.addEventListener('click', () => {
  setToken(undefined);
  getToken.focus();
});

find(HTMLElement, '#cancel').addEventListener('click', () => dialog.close());

/** Shows and enables only the fields of the chosen way. */
function showFields() {
  problem.textContent = '';
  const way = new FormData(form).get('way');
  for (const fieldset of form.querySelectorAll('fieldset')) {
    const { way: owner = way } = fieldset.dataset;
    fieldset.hidden = fieldset.disabled = owner !== way;
  }
  const isPasted = new FormData(form).has('token');
  find(HTMLElement, 'dialog .buttons button').textContent = isPasted ? 'Use token' : 'Get token';
}
form.addEventListener('change', showFields);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  problem.textContent = '';
  const { tokenEndpoint = '', audience = '', dpop } = form.dataset;
  const fields = new FormData(form);
  const pasted = fields.get('token');
  const scope = fields.getAll('scope').join(' ');
  const parameters = {
    grant_type: 'client_credentials',
    client_id: String(fields.get('client_id')),
    client_secret: String(fields.get('client_secret')),
    audience,
    ...(scope && { scope }),
  };
  try {
    setToken(pasted === null ? await requestToken(tokenEndpoint, parameters, dpop) : readPasted(String(pasted)));
    dialog.close();
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    problem.replaceChildren(message, cause ? isolate(cause) : '');
  }
});

for (const article of document.querySelectorAll('article')) {
  const request = find(HTMLFormElement, 'form', article);
  const [shownRequest, shownCommand] = article.querySelectorAll('.sent pre');
  const copied = find(HTMLElement, '.copy + [role="status"]', article);
  /** @type {Message | undefined} */
  let sent;

  request.addEventListener('submit', async (event) => {
    event.preventDefault();
    copied.textContent = '';
    let status = 0;
    try {
      sent = messageOf(request);
      const headers = await headersOf(sent);
      shownRequest?.replaceChildren(toText(sent, headers));
      shownCommand?.replaceChildren(toCommand(sent, headers));
      status = await send(sent, headers, article);
    } catch (error) {
      show(article, 'failure', 'No response', '', error instanceof Error ? error.message : String(error));
    }
    find(HTMLElement, '.sent', article).hidden = false;
    find(HTMLElement, '.sent .get-token', article).hidden = status !== 401;
  });

  find(HTMLElement, '.copy', article).addEventListener('click', async () => {
    if (!sent || !shownCommand) return;
    // The proof that was sent is used, so the command needs a new one.
    if (sent.token?.isBound) shownCommand.textContent = toCommand(sent, await headersOf(sent));
    try {
      await navigator.clipboard.writeText(shownCommand.textContent);
      copied.textContent = sent.token?.isBound
        ? 'Copied. Its proof is valid for one request within a minute.'
        : 'Copied';
    } catch {
      // The clipboard is not available on pages from plain http.
      find(HTMLDetailsElement, '.sent details', article).open = true;
      getSelection()?.selectAllChildren(shownCommand);
      copied.textContent = 'Press Ctrl+C or ⌘C to copy the selected command.';
    }
  });
}

/** The API is where this page is. @type {(request: HTMLFormElement) => Message} */
function messageOf(request) {
  const { method = '', path: template = '', isProtected } = request.dataset;
  const fields = new FormData(request);
  const path = template.replace(/\{(.*?)\}/g, (_, name) => encodeURIComponent(String(fields.get(`path ${name}`))));
  const url = new URL(`.${path}`, location.href);
  for (const [name, value] of fields)
    if (name.startsWith('query ') && value !== '') url.searchParams.append(name.slice('query '.length), String(value));
  const { publicUrl } = form.dataset;
  return {
    method,
    url: url.href,
    provedUrl: publicUrl === undefined ? url.href : publicUrl + path,
    token: isProtected === undefined ? undefined : accessToken,
    body: fields.has('body') ? String(fields.get('body')) : null,
  };
}

/** @type {(message: Message) => Promise<Record<string, string>>} */
const headersOf = async ({ method, provedUrl, token, body }) => ({
  ...(token && (await credentialsOf(token, method, provedUrl))),
  ...(body !== null && { 'Content-Type': 'application/json' }),
});

/** Sends a request, shows the response and returns its status. @type {(message: Message, headers: Record<string, string>, article: Element) => Promise<number>} */
async function send({ method, url, body }, headers, article) {
  const startMs = performance.now();
  const response = await fetch(url, { method, headers, body, credentials: 'omit' });
  const text = format(await response.text());
  const { ok, status, statusText } = response;
  const shown = ['WWW-Authenticate', 'Retry-After', 'Allow'].filter((name) => response.headers.has(name));
  const lines = shown.map((name) => `${name}: ${response.headers.get(name)}`);
  const details = ` · ${Math.round(performance.now() - startMs)} ms · ${new Date().toLocaleTimeString()}`;
  show(article, ok ? 'success' : 'failure', `${status} ${statusText}`, details, [...lines, text].join('\n\n'));
  return status;
}

/** @type {(message: Message, headers: Record<string, string>) => string} */
const toText = ({ method, url, body }, headers) =>
  [`${method} ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n') +
  (body === null ? '' : `\n\n${body}`);

/** Returns the request as a command for a POSIX shell. @type {(message: Message, headers: Record<string, string>) => string} */
const toCommand = ({ method, url, body }, headers) =>
  [
    `curl -i${method === 'GET' ? '' : ` -X ${method}`} ${quote(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-raw ${quote(body)}`]),
  ].join(' \\\n  ');

/** @type {(text: string) => string} */
const quote = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** @type {(text: string) => string} */
function format(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @type {(article: Element, kind: string, status: string, details: string, text: string) => void} */
function show(article, kind, status, details, text) {
  const output = find(HTMLElement, '.response', article);
  const heading = createElement('p', 'status', createElement('strong', kind, status), details);
  output.replaceChildren(heading, createElement('pre', '', text));
  output.scrollIntoView({ block: 'nearest' });
}
