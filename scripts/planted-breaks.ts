/** A fault by its name: the file, the text that it replaces, and what it puts there. */
export type Break = readonly [name: string, file: string, from: string, to: string];

const decide = 'src/auth/guard/decide.ts';
const claims = 'src/auth/token/claims.ts';
const refreshing = 'src/auth/keys/refreshing.ts';
const gate = 'src/auth/elysia/gate.ts';
const routes = 'src/auth/elysia/routes.ts';

/** Faults by the test file that notices each. */
export const breaks: Readonly<Record<string, readonly Break[]>> = {
  // Tokens are tried at the verifier.
  'auth/token/verifier': [
    ['no audience', claims, 'audience.includes(name)', 'true'],
    ['no issuer', claims, '(claims) => isIssuedBy(issuer, claims)', '() => true'],
    ['valid at exp', claims, 'Number(exp) <= nowSeconds', 'Number(exp) < nowSeconds'],
    ['kinds of tokens mixed up', claims, 'otherKindClaim(claims, requiredClaims) === undefined', 'true'],
    ['withdrawn keys trusted', 'src/auth/token/verifier.ts', 'keys?.isCurrent(key) === true', 'keys !== undefined'],
  ],
  'auth/explain/pairs': [
    [
      'explained in another order',
      'src/auth/explain/checks/checks.ts',
      '...describeBinding(explained), ...describeRequirements(explained)',
      '...describeRequirements(explained), ...describeBinding(explained)',
    ],
    [
      'scope before step-up',
      'src/auth/guard/requirements.ts',
      "['authentication_insufficient', 'scope_insufficient']",
      "['scope_insufficient', 'authentication_insufficient']",
    ],
  ],
  // Requests are tried at every door.
  'examples/servers': [
    ['parts after a token', decide, ' && rest.length === 0', ''],
    ['a used proof', decide, 'if (used) return rejected(used);', ''],
    ['no scope', decide, 'policy.check(ownClaims) ?? checkAnyScope', 'checkAnyScope'],
    ['one of two headers', 'src/auth/node/incoming.ts', 'rawHeaders.length > 0', 'rawHeaders.length < 0'],
  ],
  'auth/guard/optional': [
    [
      'a bad token is anonymous',
      decide,
      'instanceof Rejected) return rejected(verified)',
      'instanceof Rejected) return isOptional ? undefined : rejected(verified)',
    ],
    ['anonymous with a requirement', decide, 'isOptional && policy.isEmpty &&', 'isOptional &&'],
    ['anything is anonymous', decide, " && token.reason === 'credentials_missing'", ''],
  ],
  // By day, the matrix has pairs of values instead of each combination.
  'auth/elysia/matrix': [
    ['no gate for upgrades', gate, "isUpgrade ? 'WS' : ''", "''"],
    ['no gate for all methods', gate, ", 'ALL'];", '];'],
    ['the gate of a parent serves', gate, 'for (const store of stores) store.handler = gated;', ''],
    ['options lost after a falsy one', routes, '{ detail: detail || {}, ...others,', '{ ...others,'],
    ['values served without hooks', routes, 'toFunction(handler)', 'handler'],
    ['functions after hooks', routes, '  putFunctionsFirst(hooks);\n', ''],
  ],
  'auth/keys/key-set-lifecycle': [['keys never expire', refreshing, 'if (now >= this.expiresAt)', 'if (now === -1)']],
  'auth/keys/key-set': [['no cooldown', 'src/auth/keys/key-set.ts', 'if (!isFirst) this.startCooldown();', '']],
  'fleet/fleet': [['keys never expire, in a fleet', refreshing, 'if (now >= this.expiresAt)', 'if (now === -1)']],
  'probe/planted-requests': [['no row fails', 'src/probe/row/topic.ts', 'outcome === fault', 'outcome !== outcome']],
  'auth/mcp/endpoint': [
    ['a session for anybody', 'src/auth/mcp/endpoint.ts', 'owner ? owner.user !== user', 'owner ? false'],
  ],
  'types/compilers': [
    [
      'an undocumented option',
      'src/auth/types.ts',
      '  /** Tolerated clock difference',
      '  // Tolerated clock difference',
    ],
  ],
};
