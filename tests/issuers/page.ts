import { join } from 'node:path';
import { type RefusalReason, refusals } from '../../src/auth/refusals.ts';
import { type Issuer, type Outcome, SOURCES_READ_ON, type TokenForm } from './form.ts';
import { ISSUERS } from './forms.ts';

/** Where the page is. */
export const PAGE = join(import.meta.dir, '../../docs/issuers.md');

const ANSWERS: Readonly<Record<Outcome, string>> = {
  scope: '200, with the scope',
  'no scope': '200 on `/api/private`, 403 on `/api/private-scoped`',
  invalid_header: '401 `invalid_header`',
  invalid_claims: '401 `invalid_claims`',
};

const INTRODUCTION = `# Settings for your issuer

For each issuer, this page lists the settings, what to enable at the issuer, and which tokens are rejected and why. It is generated
from the rows of a test ([tests/issuers](../tests/issuers)), which creates each token as the issuer documents it and sends it to the
service with exactly these settings. Replace the names in capitals with your own. \`read:messages\` is the scope that
\`/api/private-scoped\` requires. [.env.example](../.env.example) explains every setting.

The plugin takes the same settings as options in camelCase, with lists as arrays:
\`resourceServer({ issuer: 'https://ORG.okta.com/oauth2/default', audience: 'api://default', scopeClaim: ['scp'] })\`.
`;

/** Returns docs/issuers.md as the table of forms has it. */
export function renderPage(): string {
  const contents = ISSUERS.map(({ name }) => `[${name}](#${anchor(name)})`).join(', ');
  return [
    INTRODUCTION,
    `${contents}\n`,
    renderFirstDay(),
    ...ISSUERS.map(renderIssuer),
    REAL_SERVERS,
    SPECIAL_CASES,
  ].join('\n');
}

/** What to do about a refusal that a first token meets. */
const FIRST_REFUSALS: readonly (readonly [reason: RefusalReason, advice: string])[] = [
  [
    'token_opaque',
    'The token is meant for the issuer itself. Ask your issuer for a token with an audience (`audience` or `resource`), or enable JWT access tokens',
  ],
  ['token_encrypted', 'The same, or remove the encryption key of your API from the issuer'],
  ['algorithm_unsupported', 'Set `ALGORITHMS` to the `alg` in the header of the token. HS256 is never accepted'],
  ['key_id_missing', 'Enable key IDs at the issuer'],
  [
    'type_unsupported',
    'The token is not an access token for an API. It may be a logout token, or one for the issuer itself',
  ],
  ['key_unknown', 'The token is from another issuer or for another API, or `JWKS_URI` is wrong'],
  ['issuer_mismatch', 'Copy `iss` of the token to `ISSUER`. They often differ only by a trailing slash'],
  [
    'audience_mismatch',
    'Request a token for the right audience, or copy `aud` of the token to `AUDIENCE` if it identifies this API and nothing else',
  ],
  ['required_claim_mismatch', 'Compare the token with `REQUIRED_CLAIMS`'],
  ['scope_insufficient', 'Request the scope, or set `SCOPE_CLAIM` to the claim that has it'],
  [
    'keys_unavailable',
    'The log has the reason. If it is `issuer_mismatch`, the metadata names another issuer, and the log has both',
  ],
];

function renderFirstDay(): string {
  const rows = FIRST_REFUSALS.map(([reason, advice]) => {
    const { status, code, description } = refusals[reason];
    return [`${status} \`${code}\``, description, advice];
  });
  return `## If your first token is rejected

Look at the description in the response, and compare the token with the settings. The first two parts of a token are its header and
its claims, as JSON in base64url. Decode them on your own machine: a token is a credential.

${renderTable([['Response', '`description`', 'What to do'], ...rows])}
`;
}

/** Columns are as wide as their widest cell, as the formatter has them. */
function renderTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[], fill = ' ') =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  const rule = line(
    head.map(() => ''),
    '-',
  );
  return [line(head), rule, ...rows.map((row) => line(row))].join('\n');
}

const REAL_SERVERS = `## Real servers

\`bun run test:issuers\` runs the following servers. A real client requests the tokens.
[oidc-provider](https://github.com/panva/node-oidc-provider) with RS256, ES256 and EdDSA, Better Auth with its OAuth provider plugin,
[OpenAuth](https://openauth.js.org), [oauth2-mock-server](https://github.com/axa-group/oauth2-mock-server), and
[Glewlwyd](https://github.com/babelouest/glewlwyd) with RS256 and ES256.
`;

const SPECIAL_CASES = `## Special cases

**Several issuers.** \`ISSUER=https://TENANT.us.auth0.com/,https://login.microsoftonline.com/TENANT_ID/v2.0\` accepts tokens of either, each
verified with its own issuer's keys. The other settings apply to all of them, so list what each issuer needs, such as
\`SCOPE_CLAIM=scope,scp,roles\`, two audiences and two algorithms. \`JWKS_URI\` cannot be set.

**A private certificate authority.** Set \`NODE_EXTRA_CA_CERTS\` to a PEM file with its certificates when you start the service:

\`\`\`sh
NODE_EXTRA_CA_CERTS=/etc/ssl/private-ca.pem ISSUER=https://login.internal.example.com/ AUDIENCE=https://api.example.com protected-api
\`\`\`

**Plain http in a private network**, such as Docker Compose: \`JWKS_ALLOW_HTTP=true\`, and \`JWKS_URI=http://issuer:8080/...\` if
clients reach the issuer at another address.

**Keys that are published as certificates only** (\`x5c\` without \`n\` and \`e\`, or \`x\` and \`y\`) are not supported. RFC 7517
requires these members, and every issuer on this page publishes them.

**An issuer that is not on this page** works if its access tokens are JWTs with \`kid\`, \`iss\`, \`exp\`, an audience and an algorithm in
\`ALGORITHMS\`, and if its keys are at \`JWKS_URI\` or in its metadata.
`;

function renderIssuer({ name, request, sources, forms }: Issuer): string {
  // Tokens without any scope are all that some issuers have; beside forms with a scope they are a mistake.
  const best = forms.find(({ outcome }) => outcome === 'scope')?.outcome ?? 'no scope';
  const accepted = forms.filter(({ outcome }) => outcome === best);
  const refused = forms.filter(({ outcome }) => outcome !== best);
  const parts = [
    `## ${name}\n`,
    ...groupBySettings(accepted).map(renderAccepted),
    request && `Request a token:\n\n\`\`\`sh\n${request}\n\`\`\`\n`,
    refused.length > 0 && `Rejected:\n\n${refused.map(renderRefused).join('\n')}\n`,
    `Sources, read on ${SOURCES_READ_ON}: ${sources.map((source) => `<${source}>`).join(', ')}\n`,
  ];
  return parts.filter((part) => part).join('\n');
}

const textOf = (settings: TokenForm['settings']) =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');

function groupBySettings(forms: readonly TokenForm[]): readonly (readonly TokenForm[])[] {
  return [...Map.groupBy(forms, ({ settings }) => textOf(settings)).values()];
}

function renderAccepted(forms: readonly TokenForm[]): string {
  const [first] = forms;
  const list = forms.map(({ name, advice }) => `- **${name}.** ${advice}`).join('\n');
  return `\`\`\`dotenv\n${first ? textOf(first.settings) : ''}\n\`\`\`\n\n${list}\n`;
}

function renderRefused({ name, outcome, advice }: TokenForm): string {
  return `- **${name}**: ${ANSWERS[outcome]}. ${advice}`;
}

function anchor(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}

if (import.meta.main) await Bun.write(PAGE, renderPage());
