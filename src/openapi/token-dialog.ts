import type { Client } from 'protected-api/testing';
import type { DescribedApi } from './about.ts';
import { type Html, html } from './layout.ts';

/** A way to get a token: a radio button and its fields. */
type Way = readonly [value: string, label: Html, fields: Html];

/**
 * Returns the dialog in which the user chooses how to get a token. The first way is preselected.
 * @param scopes those that the operations require
 * @param tokenEndpoint if it is undefined, the page only accepts an existing token
 */
export function renderDialog(
  { options }: DescribedApi,
  scopes: readonly string[],
  tokenEndpoint: string | undefined,
  clients: readonly Client[] = [],
): Html {
  const {
    dpop,
    publicUrl,
    audience: [audience = ''],
  } = options;
  const other = clients.length > 0 ? 'Another client' : 'Client credentials';
  const ways: readonly Way[] = [
    ...clients.map(describeClient),
    ...(tokenEndpoint === undefined ? [] : [['client', html`${other}`, renderCredentials(scopes)] as const]),
    ['token', html`Paste a token`, renderPasting(dpop !== 'off')],
  ];
  const radios = ways.map(
    ([value, label], index) =>
      html`<label><input type="radio" name="way" value="${value}"${index === 0 && html` checked`}> <span>${label}</span></label>\n`,
  );
  const fieldsets = ways.map(
    ([value, , fields], index) =>
      html`<fieldset data-way="${value}"${index > 0 && html` hidden disabled`}>\n${fields}</fieldset>\n`,
  );
  return html`<dialog aria-labelledby="dialog-title">
<form data-token-endpoint="${tokenEndpoint}" data-audience="${audience}" data-dpop="${dpop}"${publicUrl !== undefined && html` data-public-url="${publicUrl}"`}>
<h2 id="dialog-title">Get a token</h2>
${ways.length > 1 && html`<fieldset>\n<legend>Access token</legend>\n${radios}</fieldset>\n`}${fieldsets}<p role="alert" class="error"></p>
<p class="buttons"><button>Get token</button> <button type="button" class="secondary" id="cancel">Cancel</button></p>
</form>
</dialog>`;
}

const describeClient = ({ id, secret, scope }: Client): Way => [
  id,
  html`Demo client <strong>${id}</strong>, ${scope === '' ? 'without scopes' : html`with the scope <code>${scope}</code>`}`,
  html`<input type="hidden" name="client_id" value="${id}">
<input type="hidden" name="client_secret" value="${secret}">
<input type="hidden" name="scope" value="${scope}">
`,
];

function renderCredentials(scopes: readonly string[]): Html {
  const checkboxes = scopes.map(
    (scope) =>
      html`<label><input type="checkbox" name="scope" value="${scope}" checked> <span>Request the scope <code>${scope}</code></span></label>\n`,
  );
  return html`<label>Client ID <input name="client_id" autocomplete="off" spellcheck="false" required></label>
<label>Client secret <input name="client_secret" type="password" autocomplete="off" required></label>
${checkboxes}`;
}

const renderPasting = (hasDpop: boolean) =>
  html`<label>Access token <textarea name="token" rows="5" spellcheck="false" required></textarea></label>
${hasDpop && html`<p>A token that is bound to the key of another client (DPoP) is rejected.</p>\n`}`;
