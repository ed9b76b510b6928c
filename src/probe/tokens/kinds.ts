import { claims, headers } from '../row/changes.ts';
import { isBearer, tokens } from '../row/topic.ts';

// Tokens of other kinds that the issuer signed: by their type, their claims, what binds them, and what crit demands.

/** What other kinds of tokens say of themselves. */
const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const idTokenOf = (audience: string) => ({ aud: audience, azp: audience, nonce: 'n', at_hash: 'AAAA', auth_time: 1 });

export const kindTokens = [
  ...tokens(
    'crit',
    {
      rule: 'RFC 7515 §4.1.11',
      needs: 'issuer',
      remedy: 'Update the library, or take one that rejects crit',
      ownCode: 'Reject a token with crit, unless you understand all that it lists',
    },
    {
      unknown: [
        'an extension that nobody understands (CVE-2026-35042)',
        { header: { crit: ['x-policy'], 'x-policy': 'mfa' } },
      ],
      b64: [
        'a payload that is not encoded: b64 false',
        { header: { crit: ['b64'], b64: false } },
        { rule: 'RFC 7797 §7' },
      ],
      absent: ['crit with a member that is absent', { header: { crit: ['absent'] } }],
      escaped: [
        'crit by an escaped name',
        ({ header }) => ({ headerText: `${JSON.stringify(header).slice(0, -1)},"\\u0063rit":["x-y"]}` }),
      ],
      standard: ['crit with members of the standard', headers('crit', ['alg'], ['exp', 'exp']), { level: 'should' }],
      malformed: ['crit that is not a list of names', headers('crit', [], [1], 'exp', null, {}), { level: 'should' }],
    },
  ),
  ...tokens(
    'type',
    {
      rule: 'RFC 8725 §3.11',
      needs: 'issuer',
      level: 'should',
      profiles: { rfc9068: 'must' },
      remedy: 'Require the type of access tokens, at+jwt, if the issuer sets it',
      ownCode: 'Accept the types of access tokens only: at+jwt, and where the issuer has it, JWT',
    },
    {
      logout: ['typ logout+jwt', headers('typ', 'logout+jwt', 'application/logout+jwt')],
      id: ['typ id+jwt', headers('typ', 'id+jwt')],
      dpop: ['typ dpop+jwt', headers('typ', 'dpop+jwt')],
      event: ['typ secevent+jwt', headers('typ', 'secevent+jwt')],
      introspection: ['typ token-introspection+jwt', headers('typ', 'token-introspection+jwt')],
      request: ['typ oauth-authz-req+jwt', headers('typ', 'oauth-authz-req+jwt')],
      unlike: ['other texts for typ', headers('typ', 'JWS', ' JWT', '', 'at+jwt; charset=utf-8')],
      value: ['typ that is not a string', headers('typ', null, 1, ['JWT'])],
      jwt: [
        'typ JWT, or no typ',
        headers('typ', 'JWT', undefined),
        {
          skip: ({ profile }) =>
            profile === 'rfc9068' ? undefined : 'Only section 4 of RFC 9068 rejects it: --profile rfc9068',
        },
      ],
    },
  ),
  ...tokens(
    'kind',
    {
      rule: 'RFC 8725 §3.12',
      needs: 'issuer',
      level: 'should',
      remedy: 'Give the API an audience that no client has, set the type, and add a rule for claims that name a kind',
      ownCode: 'Reject tokens of other kinds: by typ, by the audience, and by claims that name a kind',
    },
    {
      'id-token': [
        'an ID token: its audience is a client',
        { claims: idTokenOf('client-1'), header: { typ: 'JWT' } },
        { level: 'must', rule: 'RFC 8725 §2.8; RFC 9068 §5' },
      ],
      'id-token-use': [
        'an ID token for this audience that says so in token_use',
        { claims: { token_use: 'id', nonce: 'n', at_hash: 'AAAA' }, header: { typ: 'JWT' } },
      ],
      'id-typ': [
        'an ID token that says so in the claim typ',
        [{ claims: { typ: 'ID' } }, { claims: { token_type: 'id_token' } }],
      ],
      'refresh-token': [
        'a refresh token that says so (RFC 6749 §1.5)',
        [
          { claims: { typ: 'Refresh' } },
          { claims: { token_use: 'refresh' } },
          { claims: { token_usage: 'refresh_token' } },
        ],
      ],
      'offline-token': ['an offline token that says so', claims('typ', 'Offline')],
      'logout-token': [
        'a logout token of this audience (Back-Channel Logout §2.4)',
        { header: { typ: undefined }, claims: { events: logoutEvent, sid: 's' } },
      ],
      'logout-other': [
        'a logout token: its audience is a client',
        { header: { typ: undefined }, claims: { aud: 'client-1', events: logoutEvent } },
        { level: 'must' },
      ],
    },
  ),
  ...tokens(
    'bound',
    {
      rule: 'RFC 9449 §7.2; RFC 7800 §3; RFC 8705 §3',
      needs: 'issuer',
      level: 'should',
      remedy: 'Turn on DPoP or certificates where the token is checked, or let the issuer bind none for this API',
      ownCode: 'Reject a token with cnf, unless its binding was checked',
      skip: isBearer,
    },
    {
      key: ['a token bound to a key, as a bearer token', { claims: { cnf: { jkt: 'x' } } }],
      certificate: ['a token bound to a certificate, without one', { claims: { cnf: { 'x5t#S256': 'x' } } }],
      other: ['a token bound in other ways', [{ claims: { cnf: { jwk: {} } } }, { claims: { cnf: {} } }]],
    },
  ),
];
