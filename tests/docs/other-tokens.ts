import type { Issuer, IssuerToken, OtherKind } from '../../scripts/issuer-pages.ts';
import type { Members } from '../../src/auth/values/json.ts';

/** A signed JWT that an issuer can give out beside the one that its page describes. */
export type Signed = Extract<IssuerToken, { readonly header: object }>;

const clientClaims = ['client_id', 'azp', 'cid', 'appid', 'applicationId'];
const without = (members: Members, names: readonly string[]): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

/** Returns the claims that have scopes, by their first names. */
const scopesIn = ({ SCOPE_CLAIM = '' }: Members) => [
  ...['scope', 'scp', 'permissions', 'roles'],
  ...String(SCOPE_CLAIM)
    .split(',')
    .map((name) => name.split('/')[name.startsWith('/') ? 1 : 0] ?? ''),
];

/** OpenID Connect Core 1.0 §2 and §3.1.3.6. */
const ofIdToken = { nonce: 'n-0S6_WzA2Mj', at_hash: '77QmUPtjPfzWtF2AnpK9RQ' };

const isForUrl = ({ aud }: Members) => aud === undefined || [aud].flat().some((name) => String(name).includes('://'));

/** The claims of each kind, from those of an accepted token; undefined if the issuer cannot make such a token. */
const kinds: Readonly<Record<OtherKind, (claims: Members, settings: Members) => Members | undefined>> = {
  idToken: (claims, settings) => {
    const client = clientClaims.map((name) => claims[name]).find((each) => each !== undefined) ?? 'CLIENT_ID';
    return { ...without(claims, [...scopesIn(settings), 'jti', 'client_id', 'cnf']), ...ofIdToken, aud: client };
  },
  // No client has a URL as its ID.
  idTokenOfApi: (claims, settings) =>
    isForUrl(claims)
      ? undefined
      : { ...without(claims, [...scopesIn(settings), 'jti', 'client_id', 'cnf']), ...ofIdToken },
  // Claims that an administrator adds are in both kinds of tokens at some issuers.
  idTokenWithRoles: (claims, { SCOPE_CLAIM = 'scope' }) =>
    isForUrl(claims) || /^(?:scope|scp)?$/.test(String(SCOPE_CLAIM))
      ? undefined
      : { ...without(claims, ['scope', 'scp', 'jti', 'client_id', 'cnf']), ...ofIdToken },
  anotherClient: (claims) => ({
    ...claims,
    ...Object.fromEntries([...clientClaims, 'sub'].filter((name) => name in claims).map((name) => [name, 'STRANGER'])),
  }),
  withoutScope: (claims, settings) => without(claims, scopesIn(settings)),
  forIssuer: (claims) => ({ ...claims, aud: [claims.iss, `${claims.iss}/userinfo`, 'account'] }),
};

/** Returns the other tokens of an issuer that are like this one, whose settings are given, by their kind. */
export function otherTokens(issuer: Issuer, { header, claims }: Signed, settings: Members) {
  return Object.entries(kinds).flatMap(([kind, change]) => {
    const own = issuer.others?.[kind as OtherKind];
    const changed = own === null ? undefined : change(claims, settings);
    if (changed === undefined) return [];
    const typ = kind.startsWith('idToken') ? { typ: 'JWT' } : {};
    return [{ kind: kind as OtherKind, header: { ...header, ...typ }, claims: { ...changed, ...own?.claims } }];
  });
}
