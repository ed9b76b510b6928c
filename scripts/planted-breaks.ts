/** A fault by its name: the file, the text that it replaces, what it puts there, and the test file that notices it. */
export type Break = readonly [name: string, file: string, from: string, to: string, test: string];

const decide = 'src/auth/guard/decide.ts';
const claims = 'src/auth/token/claims.ts';
const verifier = 'src/auth/token/verifier.ts';
const refreshing = 'src/auth/keys/refreshing.ts';
const gate = 'src/auth/elysia/gate.ts';
const routes = 'src/auth/elysia/routes.ts';

export const breaks: readonly Break[] = [
  // Tokens are tried at the verifier.
  [
    'no audience',
    claims,
    '!audiencesOf(named).some(',
    'named !== named && !audiencesOf(named).some(',
    'auth/token/verifier',
  ],
  ['no issuer', claims, '!isIssuedBy(issuer, claims)', 'issuer === ""', 'auth/token/verifier'],
  ['valid at exp', claims, 'Number(exp) <= nowSeconds', 'Number(exp) < nowSeconds', 'auth/token/verifier'],
  [
    'kinds of tokens mixed up',
    claims,
    'otherKindClaim(claims, requiredClaims) !== undefined',
    'false',
    'auth/token/verifier',
  ],
  ['withdrawn keys trusted', verifier, 'keys?.isCurrent(key) === true', 'keys !== undefined', 'auth/token/verifier'],
  // Requests are tried at every door.
  ['parts after a token', decide, ' && rest.length === 0', '', 'examples/servers'],
  ['a used proof', decide, 'if (used) return rejected(used);', '', 'examples/servers'],
  ['no scope', decide, 'policy.check(ownClaims) ?? checkAnyScope', 'checkAnyScope', 'examples/servers'],
  // Where a token is optional.
  [
    'a bad token is anonymous',
    decide,
    'instanceof Refusal) return rejected(verified)',
    'instanceof Refusal) return isOptional ? undefined : rejected(verified)',
    'auth/guard/optional',
  ],
  ['anonymous with a requirement', decide, 'isOptional && policy.isEmpty &&', 'isOptional &&', 'auth/guard/optional'],
  ['anything is anonymous', decide, " && token.reason === 'credentials_missing'", '', 'auth/guard/optional'],
  // By day, the matrix has pairs of values instead of each combination.
  ['no gate for upgrades', gate, "isUpgrade ? 'WS' : ''", "''", 'auth/elysia/matrix'],
  ['no gate for all methods', gate, ", 'ALL'];", '];', 'auth/elysia/matrix'],
  ['the gate of a parent serves', gate, 'for (const store of stores) store.handler = gated;', '', 'auth/elysia/matrix'],
  [
    'options lost after a falsy one',
    routes,
    '{ detail: detail || {}, ...others,',
    '{ ...others,',
    'auth/elysia/matrix',
  ],
  ['values served without hooks', routes, 'toFunction(handler)', 'handler', 'auth/elysia/matrix'],
  ['functions after hooks', routes, '  putFunctionsFirst(hooks);\n', '', 'auth/elysia/matrix'],
  // Keys, by the clock.
  ['keys never expire', refreshing, 'if (now >= this.#expiresAt)', 'if (now === -1)', 'auth/keys/key-set-lifecycle'],
  ['no cooldown', refreshing, 'if (!isDue) this.#startCooldown();', '', 'auth/keys/key-set'],
  ['keys never expire, in a fleet', refreshing, 'if (now >= this.#expiresAt)', 'if (now === -1)', 'fleet/fleet'],
  // The probe, MCP, and what is published.
  ['no row fails', 'src/probe/row/topic.ts', 'outcome === fault', 'outcome !== outcome', 'probe/planted-requests'],
  [
    'a session for anybody',
    'src/auth/mcp/sessions.ts',
    '![undefined, owner].includes(this.#owners.peek(session))',
    'false',
    'auth/mcp/sessions',
  ],
  [
    'one of two headers',
    'src/auth/node/incoming.ts',
    'rawHeaders.length > 0',
    'rawHeaders.length < 0',
    'examples/servers',
  ],
  [
    'an undocumented option',
    'src/auth/types.ts',
    '  /** Tolerated clock difference',
    '  // Tolerated clock difference',
    'types/compilers',
  ],
];
