import type { Client } from 'protected-api/testing';
import { type DescribedApi, publicUrlOf } from './about.ts';
import { type Html, html } from './html.ts';

/**
 * Returns the dialog in which the user chooses whose token to use. The first way is preselected.
 * @param tokenEndpoint if it is undefined, the page only accepts an existing token
 */
export function renderDialog(
  { options }: DescribedApi,
  scopes: readonly string[],
  tokenEndpoint: string | undefined,
  clients: readonly Client[] = [],
): Html {
  const { dpop } = options;
  const publicUrl = publicUrlOf(options);
  const [audience = ''] = options.audience;
  const ways = clients.map(describeClient);
  if (tokenEndpoint !== undefined)
    ways.push({
      value: 'client',
      label: html`${clients.length > 0 ? 'another' : 'a'} client, with its ID and secret`,
      scope: scopes.join(' '),
      fields: renderCredentials(scopes),
    });
  ways.push({ value: 'token', label: html`your own: paste it`, scope: '', fields: renderPasting(dpop !== 'off') });
  const radios = ways.map(
    ({ value, label, scope }, index) =>
      html`<label><input type="radio" name="way" value="${value}" data-scope="${scope}"${index === 0 && html` checked`}> <span>${label}</span></label>\n`,
  );
  const fieldsets = ways.map(
    ({ value, fields }, index) =>
      html`<fieldset data-way="${value}"${index > 0 && html` hidden disabled`}>\n${fields}</fieldset>\n`,
  );
  const hasChoice = ways.length > 1;
  return html`<dialog aria-labelledby="dialog-title">
<form data-token-endpoint="${tokenEndpoint}" data-audience="${audience}" data-dpop="${dpop}"${publicUrl !== undefined && html` data-public-url="${publicUrl}"`}>
<h2 id="dialog-title">Use a token${hasChoice && ' of'}</h2>
${hasChoice && html`<div role="radiogroup" aria-labelledby="dialog-title">\n${radios}</div>\n`}${fieldsets}<p role="alert" class="error"></p>
<p class="buttons"><button>Use token</button> <button type="button" id="cancel">Cancel</button></p>
</form>
</dialog>`;
}

/** Whose token to use: a radio button, the scopes that the token can have, and the fields for it. */
function describeClient({ id, secret, scope }: Client) {
  const scopes = scope.split(' ').filter(Boolean);
  const names = scopes.map((name) => html` <code>${name}</code>`);
  return {
    value: id,
    label: html`<strong>${id}</strong>, a demo client ${names.length === 0 ? 'without scopes' : html`with the scope${names.length > 1 && 's'}${names}`}`,
    scope,
    fields: html`<input type="hidden" name="client_id" value="${id}">
<input type="hidden" name="client_secret" value="${secret}">
<input type="hidden" name="scope" value="${scope}">
`,
  };
}

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
