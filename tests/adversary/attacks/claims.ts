import { AUDIENCE, mintToken, nowSeconds } from '../../support/mint.ts';
import { type Attack, attack } from './attack.ts';

const claim = (name: string, values: readonly unknown[], advisory: string, code: Attack['code']): readonly Attack[] =>
  values.map((value) => ({
    name: `${name} ${JSON.stringify(value) ?? 'missing'}`,
    advisory,
    token: { claims: { [name]: value } },
    ...(code && { code }),
  }));

/** A time so many seconds after the test, and not after this file was read. */
const fromNow = (name: string, seconds: number, advisory: string, code: Attack['code'] & string): Attack =>
  attack(
    `${name} ${seconds} s from now`,
    advisory,
    (issuer) => mintToken(issuer, { claims: { [name]: nowSeconds() + seconds } }),
    code,
  );

/** Claims as text, for what JSON.stringify cannot say. */
const payload = (
  name: string,
  advisory: string,
  write: (issuer: string) => string | Uint8Array,
  code?: Attack['code'],
): Attack => ({
  name,
  advisory,
  token: (issuer) => mintToken(issuer, { payloadText: write(issuer) }),
  ...(code && { code }),
});

const good = (issuer: string) => `"iss":"${issuer}","aud":"${AUDIENCE}","exp":${nowSeconds() + 300}`;

const issuers: readonly Attack[] = [
  ...(
    [
      ['a list with the right one', (issuer) => [issuer]],
      ['a list with the right one among others', (issuer) => ['https://evil.example.test/', issuer]],
      ['an object with the right one as a name', (issuer) => ({ [issuer]: true })],
    ] as const satisfies [string, (issuer: string) => unknown][]
  ).map(([name, iss]) =>
    attack(
      `iss as ${name}`,
      'CVE-2025-30144',
      (issuer: string) => mintToken(issuer, { claims: { iss: iss(issuer) } }),
      'invalid_claims',
    ),
  ),
  ...(
    [
      ['a part of the right one', (issuer) => issuer.slice(0, 7)],
      ['the right one less its slash', (issuer) => issuer.slice(0, -1)],
      ['the right one and more', (issuer) => `${issuer}evil`],
      ['the right one in upper case', (issuer) => issuer.toUpperCase()],
      ['the right one behind a blank', (issuer) => ` ${issuer}`],
    ] as const satisfies [string, (issuer: string) => string][]
  ).map(([name, iss]) =>
    attack(
      `iss ${name}`,
      'CVE-2024-53861',
      (issuer: string) => mintToken(issuer, { claims: { iss: iss(issuer) } }),
      'invalid_claims',
    ),
  ),
  ...claim('iss', [undefined, null, '', 'https://evil.example.test/', 0, true], 'RFC 8725 §3.8', 'invalid_claims'),
];

const audiences: readonly Attack[] = [
  ...claim('aud', [undefined, [], '', null], 'CVE-2020-26160, CVE-2025-62610', 'invalid_claims'),
  ...claim(
    'aud',
    [
      'other',
      ['other'],
      AUDIENCE.slice(0, -1),
      `${AUDIENCE}x`,
      `${AUDIENCE}/`,
      `x ${AUDIENCE} y`,
      AUDIENCE.toUpperCase(),
    ],
    'RFC 8725 §3.9',
    'invalid_claims',
  ),
  ...claim(
    'aud',
    [[AUDIENCE, 1], [[AUDIENCE]], { 0: AUDIENCE, length: 1 }, { [AUDIENCE]: true }, [null, AUDIENCE], 0],
    'CVE-2020-26160',
    'invalid_claims',
  ),
  attack(
    'an audience beside a number, on an expired token',
    'RFC 7519 §4.1.3',
    { claims: { aud: [AUDIENCE, 1], exp: 1 } },
    'invalid_claims',
  ),
];

const times: readonly Attack[] = [
  ...claim('exp', [0, -1, -1e308], 'RFC 7519 §4.1.4', 'token_expired'),
  fromNow('exp', -1, 'RFC 7519 §4.1.4', 'token_expired'),
  ...claim('exp', [undefined, null, '', '9999999999', true, [9999999999], {}], 'CVE-2026-25537', 'invalid_header'),
  ...claim('nbf', [1e308], 'RFC 7519 §4.1.5', 'invalid_header'),
  fromNow('nbf', 60, 'RFC 7519 §4.1.5', 'invalid_header'),
  ...claim('nbf', [null, '', '0', '9999999999', false, [0], {}], 'CVE-2026-25537', 'invalid_header'),
  ...claim('iat', [null, '0', [], {}], 'RFC 7519 §4.1.6', 'invalid_header'),
  payload('exp 1e400', 'RFC 8259 §6', (issuer) => `{${good(issuer)},"exp":1e400}`),
  payload('exp -1e400', 'RFC 8259 §6', (issuer) => `{${good(issuer)},"exp":-1e400}`),
  payload('nbf -1e400', 'RFC 8259 §6', (issuer) => `{${good(issuer)},"nbf":-1e400}`),
  payload('nbf 1e400', 'RFC 8259 §6', (issuer) => `{${good(issuer)},"nbf":1e400}`),
  payload(
    'a past exp with digits behind the point',
    'HSEC-2026-0010',
    (issuer) => `{${good(issuer)},"exp":${nowSeconds() - 60}.0001}`,
    'token_expired',
  ),
];

const shapes: readonly Attack[] = [
  payload('claims in an array', 'CVE-2026-107723', (issuer) => `[{${good(issuer)}}]`),
  ...['[]', 'null', 'true', '0', '"text"', '', ' '].map((text) =>
    payload(`the payload ${text || 'of nothing'}`, 'CVE-2026-107723', () => text),
  ),
  payload('claims in __proto__', 'CVE-2024-34273', (issuer) => `{"__proto__":{${good(issuer)}}}`, 'invalid_claims'),
  payload(
    'a duplicate aud, the last one another',
    'RFC 7519 §4',
    (issuer) => `{${good(issuer)},"aud":"other"}`,
    'invalid_claims',
  ),
  payload(
    'a duplicate iss, the last one another',
    'RFC 7519 §4',
    (issuer) => `{${good(issuer)},"iss":"other"}`,
    'invalid_claims',
  ),
  payload(
    'a duplicate exp, the last one past',
    'RFC 7519 §4',
    (issuer) => `{${good(issuer)},"exp":1}`,
    'token_expired',
  ),
  payload('claims with bytes that are no UTF-8', 'RFC 8725 §3.7, RFC 7519 §7.2', (issuer) =>
    Buffer.from(`{${good(issuer)},"sub":"\xff"}`, 'latin1'),
  ),
  payload('claims and more behind them', 'RFC 7519 §7.2', (issuer) => `{${good(issuer)}}{}`),
  payload('a JWT in a JWT', 'RFC 7519 §5.2', (issuer) => mintToken(issuer)),
];

const otherTokens: readonly Attack[] = [
  attack(
    'an ID token used as an access token',
    'RFC 8725 §2.8, RFC 9068 §5',
    { claims: { aud: 'client-1', azp: 'client-1', nonce: 'n', at_hash: 'h', scope: undefined } },
    'invalid_claims',
  ),
  attack(
    'a logout token without a type used as an access token',
    'RFC 8725 §2.8',
    {
      header: { typ: undefined },
      claims: { aud: 'client-1', events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
    },
    'invalid_claims',
  ),
  ...[{ jkt: 'x' }, { 'x5t#S256': 'x' }, { jwk: {} }, {}, null, ''].map((cnf) =>
    attack(`a token bound by cnf ${JSON.stringify(cnf)} shown as a plain Bearer`, 'RFC 9449 §7.1, RFC 8705 §3', {
      claims: { cnf },
    }),
  ),
];

/** A real signature over claims that are wrong, mistyped, out of time or another kind of token's. */
export const claimAttacks: readonly Attack[] = [...issuers, ...audiences, ...times, ...shapes, ...otherTokens];
