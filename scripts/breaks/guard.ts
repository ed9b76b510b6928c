// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of other files.
import type { Breaks } from './break.ts';

const decide = 'src/auth/guard/decide.ts';
const rejection = 'src/auth/guard/rejection.ts';
const claims = 'src/auth/token/claims.ts';
const refreshing = 'src/auth/keys/refreshing.ts';
const keySet = 'src/auth/keys/jwk-set.ts';
const jwk = 'src/auth/keys/jwk.ts';
const proof = 'src/auth/proof/check-proof.ts';
const finder = 'src/auth/lookup/issuer-finder.ts';
const clients = '[client_id, azp, cid, appid]';

/** Faults of `protected-api`, by the test file that notices each. */
export const guardBreaks: Breaks = {
  // Tokens are tried at the verifier.
  'auth/token/verifier': [
    ['no audience', claims, 'audience.includes(name)', 'true'],
    ['no issuer', claims, '(claims) => isIssuedBy(issuer, claims)', '() => true'],
    ['valid at exp', claims, 'Number(exp) <= nowSeconds', 'Number(exp) < nowSeconds'],
    ['kinds of tokens mixed up', claims, 'otherKindClaim(claims, requiredClaims) === undefined', 'true'],
  ],
  'auth/token/kinds': [
    ['refresh tokens accepted', 'src/auth/token/kinds.ts', "'refresh', 'refresh_token', ", ''],
    ['logout tokens accepted', 'src/auth/token/kinds.ts', 'Object.hasOwn(value, backChannelLogout)', 'false'],
  ],
  'auth/guard/claims-schema': [
    [
      'defaults written into the claims',
      'src/auth/token/claims-schema.ts',
      'ifPossible(() => structuredClone(claims))',
      'ifPossible(() => (structuredClone(claims), claims as object as Claims))',
    ],
  ],
  'auth/guard/rejection': [
    ['the first Retry-After for ever', rejection, 'rejected.retryAfterSeconds > 1 || ', ''],
    ['the first nonce for ever', rejection, ' || rejected.nonce !== undefined', ''],
    ['one reason for all of a route', rejection, '${scheme} ${rejected.reason}', '${scheme}'],
    ['a body that is cut', 'src/auth/node/require-token.ts', 'new TextEncoder().encode(body).length', 'body.length'],
    ['caches keep rejections', rejection, "      'cache-control': 'no-store',\n", ''],
  ],
  'auth/guard/metadata': [
    ['a length in characters', 'src/auth/guard/metadata.ts', 'new TextEncoder().encode(text).length', 'text.length'],
  ],
  'auth/guard/check': [
    ['no client of azp', 'src/auth/guard/decision.ts', clients, '[client_id, cid, appid]'],
    ['no client of cid', 'src/auth/guard/decision.ts', clients, '[client_id, azp, appid]'],
    ['no client of appid', 'src/auth/guard/decision.ts', clients, '[client_id, azp, cid]'],
    ['another client first', 'src/auth/guard/decision.ts', clients, '[azp, client_id, cid, appid]'],
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
  'auth/explain/explain': [
    [
      'a terminal that tokens control',
      'src/auth/explain/render.ts',
      'printable(text, Number.POSITIVE_INFINITY)',
      'text',
    ],
  ],
  'auth/explain/explain-token': [
    ['a refresh token explained', 'src/auth/explain/pasted.ts', '(?:id|refresh)_token/.test', '(?:id)_token/.test'],
    ['an ID token explained', 'src/auth/explain/pasted.ts', '(?:id|refresh)_token/.test', '(?:refresh)_token/.test'],
  ],
  'auth/keys/key-set-lifecycle': [['keys never expire', refreshing, 'if (now >= this.expiresAt)', 'if (now === -1)']],
  'auth/keys/key-set': [
    ['no cooldown', 'src/auth/keys/key-set.ts', 'if (!isFirst) this.startCooldown();', ''],
    ['a new key that controls a log', keySet, '[] : [printable(kid)]', '[] : [kid]'],
    ['a key that controls a log', 'src/auth/keys/key-set.ts', '[printable(kid), reason]', '[kid, reason]'],
  ],
  'auth/keys/issuer-keys': [
    ['withdrawn keys trusted', 'src/auth/token/verifier.ts', 'keys?.use(key) === true', 'keys !== undefined'],
  ],
  'auth/keys/jwk-set': [
    ['a skipped key that controls a log', keySet, 'isNamed(jwk) ? printable(jwk.kid, 64)', 'isNamed(jwk) ? jwk.kid'],
    ['keys for encryption', jwk, "use !== undefined && use !== 'sig'", "use === 'never'"],
    ['keys of 1024 bits', jwk, 'bits < 2048', 'bits < 1024'],
  ],
  'auth/keys/key-set-discovery': [
    ['metadata of another issuer', 'src/auth/keys/discovery.ts', 'if (found !== issuer)', 'if (found === undefined)'],
  ],
  'auth/lookup/issuer-finder': [
    [
      'another issuer is returned',
      'src/auth/lookup/answer.ts',
      'if (issuer !== iss) throw',
      'if (issuer === "") throw',
    ],
    ['an unknown issuer is asked for each time', finder, 'this.#rejected.find(iss, now) ?? ', ''],
  ],
  'auth/proof/proof': [
    ['a proof for another method', proof, 'if (htm !== method)', "if (htm === '')"],
    ['a proof for another token', proof, 'if (ath !== hash)', "if (ath === '')"],
    ['a proof for ever', proof, 'ageMs <= windowMs && ageMs', 'ageMs'],
    [
      'a proof of another key',
      'src/auth/proof/proof.ts',
      'if (proof.thumbprint !== thumbprint)',
      "if (thumbprint === '')",
    ],
  ],
  'auth/proof/certificate': [
    ['any certificate', 'src/auth/proof/certificate.ts', 'actual === thumbprint ? undefined', 'actual ? undefined'],
  ],
  'auth/options/environment': [
    [
      'lists of members of no value',
      'src/auth/options/kinds.ts',
      'members.length === value.length',
      'members.length > 0',
    ],
  ],
  'auth/testing/test-issuer': [
    ['no common claims', 'src/auth/testing/test-issuer.ts', '...good, ...common, ...claims', '...good, ...claims'],
    ['common claims win', 'src/auth/testing/test-issuer.ts', '...common, ...claims }', '...claims, ...common }'],
  ],
  'auth/testing/development-issuer': [
    ['any secret', 'src/auth/testing/token-endpoint.ts', ' || !isSameSecret(client.secret, clientSecret)', ''],
    [
      'a token for another API',
      'src/auth/testing/token-endpoint.ts',
      ' || !audience.some((known) => known === target)',
      '',
    ],
  ],
  'auth/values/recent-map': [
    [
      'the newest leaves first',
      'src/auth/values/recent-map.ts',
      'this.#end.newer;\n      this.delete',
      'this.#end.older;\n      this.delete',
    ],
  ],
  'auth/openapi/documents': [
    [
      'a rejection that nothing describes',
      'src/auth/openapi/describe-rejections.ts',
      'isRequired[reason] ?? (needs',
      'isRequired[reason] ?? (needs !== undefined && needs',
    ],
  ],
  'fleet/fleet': [['keys never expire, in a fleet', refreshing, 'if (now >= this.expiresAt)', 'if (now === -1)']],
};
