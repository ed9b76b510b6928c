// Runs in the browser: chooses the token in use, sends requests and shows the responses.
import { headersOf, readRequest, send, toCommand } from './request.js';
import { createElement, describeExpiry, describeToken, readToken } from './token.js';

/** @typedef {import('./token.js').Token} Token */

/** @type {<Type extends Element>(type: new () => Type, selector: string, parent?: ParentNode) => Type} */
const find = (type, selector, parent = document) => {
  const element = parent.querySelector(selector);
  if (!(element instanceof type)) throw new TypeError(`No ${selector} on this page`);
  return element;
};

const dialog = find(HTMLDialogElement, 'dialog');
const form = find(HTMLFormElement, 'dialog form');
const problem = find(HTMLElement, 'dialog .error');
const panel = find(HTMLElement, '#token');
const state = find(HTMLElement, '[role="status"]', panel);
const useToken = find(HTMLElement, '.use-token', panel);
const removeToken = find(HTMLElement, '#remove-token');
const withoutToken = state.textContent;

/** Kept in memory only. @type {Token | undefined} */
let accessToken;

/** @type {(token: Token | undefined) => void} */
function setToken(token) {
  accessToken = token;
  // Unlike session storage, the name of the window is never blocked. It tells the page after a reload that there was a
  // token.
  window.name = token ? 'had-token' : '';
  document.body.classList.toggle('has-token', token !== undefined);
  state.replaceChildren(...(token ? describeToken(token) : [withoutToken]));
  showExpiry();
  find(HTMLElement, 'details', panel).hidden = token?.claims === undefined;
  find(HTMLElement, 'pre', panel).textContent = JSON.stringify(token?.claims, null, 2);
  useToken.textContent = token ? 'Use another token' : 'Use a token';
  removeToken.hidden = token === undefined;
  for (const request of document.querySelectorAll('[data-is-protected]'))
    request.closest('article')?.classList.add('outdated');
}

function showExpiry() {
  find(HTMLElement, '.expiry', panel).textContent = describeExpiry(accessToken?.claims?.exp);
}
setInterval(showExpiry, 10_000);

if (window.name === 'had-token') {
  window.name = '';
  state.textContent = 'The token is gone, because this page was reloaded. Protected endpoints return 401.';
}

/** Gets the focus when a token is in use. @type {HTMLElement} */
let next = useToken;

for (const button of document.querySelectorAll('.use-token'))
  button.addEventListener('click', () => {
    const scopes = button.getAttribute('data-scope')?.split(' ') ?? [''];
    const grants = scopes.map((name) => `[data-scope~="${CSS.escape(name)}"]`);
    const way = form.querySelector(`input${grants.join('')}`);
    if (way instanceof HTMLInputElement) way.checked = true;
    next = button.closest('article')?.querySelector('.request button') ?? useToken;
    showFields();
    dialog.showModal();
    find(HTMLElement, 'dialog input:checked, dialog textarea').focus();
  });

removeToken.addEventListener('click', () => {
  setToken(undefined);
  useToken.focus();
});

find(HTMLElement, '#cancel').addEventListener('click', () => dialog.close());

/** Shows and enables only the fields of the chosen way. */
function showFields() {
  problem.textContent = '';
  const way = new FormData(form).get('way');
  for (const fieldset of form.querySelectorAll('fieldset')) {
    const { way: owner } = fieldset.dataset;
    fieldset.hidden = fieldset.disabled = way !== null && owner !== way;
  }
}
form.addEventListener('change', showFields);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  problem.textContent = '';
  try {
    setToken(await readToken(new FormData(form), form.dataset));
    dialog.close();
    next.focus();
  } catch (error) {
    problem.textContent = messageOf(error);
  }
});

for (const article of document.querySelectorAll('article')) {
  const request = find(HTMLFormElement, 'form', article);
  const command = find(HTMLElement, '.sent pre', article);
  const copied = find(HTMLElement, '.copy + [role="status"]', article);
  /** @type {import('./request.js').Message | undefined} */
  let sent;

  request.addEventListener('submit', async (event) => {
    event.preventDefault();
    article.classList.remove('outdated');
    copied.textContent = '';
    let status = 0;
    try {
      sent = readRequest(request, accessToken, form.dataset.publicUrl);
      const startMs = performance.now();
      const { headers, response } = await send(sent);
      command.textContent = toCommand(sent, shorten(headers));
      const text = await response?.text().catch(() => undefined);
      if (response && text !== undefined) showResponse(article, response, performance.now() - startMs, text);
      else showMessage(article, 'failure', 'The server did not respond.', ' Is it still running?');
      status = response?.status ?? 0;
    } catch (error) {
      showMessage(article, 'failure', messageOf(error));
    }
    find(HTMLElement, '.sent', article).hidden = false;
    find(HTMLElement, '.use-token', article).hidden = status !== 401 && status !== 403;
  });

  find(HTMLElement, '.copy', article).addEventListener('click', async () => {
    if (!sent) return;
    const text = toCommand(sent, await headersOf(sent));
    try {
      await navigator.clipboard.writeText(text);
      copied.textContent = sent.token?.isBound ? 'Copied. Its proof is valid for one request.' : 'Copied';
    } catch {
      // The clipboard is not available on pages from plain http.
      command.textContent = text;
      find(HTMLDetailsElement, '.sent details', article).open = true;
      getSelection()?.selectAllChildren(command);
      copied.textContent = 'Press Ctrl+C or ⌘C to copy the selected command.';
    }
  });
}

document.body.classList.add('is-ready');

/** @type {(error: unknown) => string} */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** Tokens and proofs are too long to read. @type {(headers: Record<string, string>) => Record<string, string>} */
const shorten = (headers) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/(\S{12})\S{12,}(\S{6})/, '$1…$2')]),
  );

/** @type {(article: Element, response: Response, durationMs: number, text: string) => void} */
function showResponse(article, { ok, status, statusText, headers }, durationMs, text) {
  const shown = ['WWW-Authenticate', 'Retry-After', 'Allow'].filter((name) => headers.has(name));
  const lines = shown.map((name) => `${name}: ${headers.get(name)}`);
  const details = ` · ${Math.round(durationMs)} ms · ${new Date().toLocaleTimeString()}`;
  showMessage(
    article,
    ok ? 'success' : 'failure',
    `${status} ${statusText}`,
    details,
    [...lines, format(text)].join('\n\n'),
  );
}

/** @type {(text: string) => string} */
function format(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @type {(article: Element, kind: string, heading: string, details?: string, text?: string) => void} */
function showMessage(article, kind, heading, details = '', text = '') {
  const output = find(HTMLElement, '.response', article);
  const status = createElement('p', 'status', createElement('strong', kind, heading), details);
  output.replaceChildren(status, ...(text ? [createElement('pre', '', text)] : []));
  output.scrollIntoView({ block: 'nearest' });
}
