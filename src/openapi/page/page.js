// Runs in the browser: gets tokens, sends requests and shows the responses.

/** @type {<Type extends Element>(type: new () => Type, selector: string) => Type} */
const find = (type, selector) => {
  const element = document.querySelector(selector);
  if (!(element instanceof type)) throw new TypeError(`No ${selector} on this page`);
  return element;
};

const dialog = find(HTMLDialogElement, 'dialog');
const form = find(HTMLFormElement, 'dialog form');
const problem = find(HTMLElement, 'dialog .error');
const authorization = find(HTMLElement, '#authorization');
const authorize = find(HTMLElement, '#authorize');
const forget = find(HTMLElement, '#forget');
const unauthorized = authorization.textContent;

/** Kept in memory only. @type {string | undefined} */
let accessToken;

/** @type {(token: string | undefined, text: string | null) => void} */
function setToken(token, text) {
  accessToken = token;
  authorization.textContent = text;
  forget.hidden = token === undefined;
}

authorize.addEventListener('click', () => {
  showFields();
  dialog.showModal();
  find(HTMLElement, 'dialog input:checked, dialog textarea').focus();
});

forget.addEventListener('click', () => {
  setToken(undefined, unauthorized);
  authorize.focus();
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
}
form.addEventListener('change', showFields);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  problem.textContent = '';
  const fields = new FormData(form);
  const token = fields.get('token');
  try {
    if (token === null) await requestToken(fields);
    else setToken(String(token).replace(/^\s*(Bearer\s)?\s*|\s+$/gi, ''), 'Authorized with a pasted token.');
    dialog.close();
  } catch (error) {
    problem.textContent = error instanceof Error ? error.message : String(error);
  }
});

/**
 * Gets a token with the client credentials grant. All parameters are in the form, including the audience.
 * @type {(fields: FormData) => Promise<void>}
 */
async function requestToken(fields) {
  const { tokenEndpoint = '', audience = '' } = form.dataset;
  const [clientId, clientSecret] = [String(fields.get('client_id')), String(fields.get('client_secret'))];
  const scope = fields.getAll('scope').join(' ');
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    audience,
    ...(scope && { scope }),
  });
  // With credentials, a 401 could open the browser's password prompt.
  const response = await fetch(tokenEndpoint, { method: 'POST', body, credentials: 'omit' }).catch(() => {
    throw new Error(
      `Cannot reach ${tokenEndpoint} from this page: it is unavailable, or does not allow cross-origin requests. Get a token with another tool and paste it here.`,
    );
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.access_token) {
    const reason = [answer.error, answer.error_description].filter(Boolean).join(': ');
    throw new Error(`The token endpoint answered ${response.status}. ${reason}`);
  }
  const granted = answer.scope ?? scope;
  setToken(
    answer.access_token,
    `Authorized as ${clientId}, ${granted ? `with the scope ${granted}` : 'without scopes'}.`,
  );
}

for (const request of document.querySelectorAll('form.request')) {
  request.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (request instanceof HTMLFormElement && request.nextElementSibling)
      await sendRequest(request, request.nextElementSibling);
  });
}

/** @type {(request: HTMLFormElement, output: Element) => Promise<void>} */
async function sendRequest(request, output) {
  const { method = '', isProtected } = request.dataset;
  const fields = new FormData(request);
  const body = fields.get('body');
  const headers = new Headers(body === null ? {} : { 'content-type': 'application/json' });
  try {
    if (isProtected !== undefined && accessToken !== undefined) headers.set('authorization', `Bearer ${accessToken}`);
    const response = await fetch(addressOf(request, fields), { method, headers, body, credentials: 'omit' });
    const shown = ['WWW-Authenticate', 'Retry-After', 'Allow'].flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [`${name}: ${value}`];
    });
    const text = [...shown, format(await response.text())].join('\n\n');
    show(output, response.ok ? 'success' : 'failure', `${response.status} ${response.statusText}`, text);
  } catch (error) {
    show(output, 'failure', 'No response', String(error));
  }
}

/** The API is where this page is. @type {(request: HTMLFormElement, fields: FormData) => URL} */
function addressOf(request, fields) {
  const path = (request.dataset.path ?? '').replace(/\{(.*?)\}/g, (_, name) =>
    encodeURIComponent(String(fields.get(`path ${name}`))),
  );
  const url = new URL(`.${path}`, location.href);
  for (const [name, value] of fields)
    if (name.startsWith('query ') && value !== '') url.searchParams.append(name.slice('query '.length), String(value));
  return url;
}

/** @type {(text: string) => string} */
function format(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @type {(output: Element, kind: string, status: string, text: string) => void} */
function show(output, kind, status, text) {
  const heading = document.createElement('p');
  heading.className = `status ${kind}`;
  heading.textContent = status;
  const content = document.createElement('pre');
  content.textContent = text;
  output.replaceChildren(heading, content);
  output.scrollIntoView({ block: 'nearest' });
}
