import { createHash } from 'node:crypto';
import { publish, rsaKey } from '../../support/keys.ts';
import { mintToken, SIGNING_KID } from '../../support/mint.ts';
import { type Attack, attack } from './attack.ts';
import { selfSignedCertificate } from './forgery.ts';

const certificate = () => selfSignedCertificate(rsaKey('stranger'));
const digest = (algorithm: string) => createHash(algorithm).update(certificate()).digest('base64url');

/** A header that brings its own key, on a token signed with that key. */
const brought = (name: string, advisory: string, header: () => Record<string, unknown>): Attack =>
  attack(name, advisory, (issuer) => mintToken(issuer, { header: header(), key: rsaKey('stranger') }));

const embedded: readonly Attack[] = [
  brought('a jwk of the attacker', 'CVE-2018-0114', () => ({ jwk: publish(rsaKey('stranger'), SIGNING_KID) })),
  brought('a jwk of the attacker and no kid', 'CVE-2018-0114', () => ({
    kid: undefined,
    jwk: publish(rsaKey('stranger'), 'stranger'),
  })),
  brought('an x5c of the attacker', 'RFC 8725 §3.10', () => ({ x5c: [certificate().toString('base64')] })),
  brought('x5t and x5t#S256 of the attacker', 'RFC 8725 §3.10', () => ({
    x5t: digest('sha1'),
    'x5t#S256': digest('sha256'),
  })),
];

const kids: readonly Attack[] = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '0', 'keys'].map((kid) =>
    attack(`kid ${kid}`, 'CVE-2024-34273, RFC 8725 §3.10', { header: { kid } }),
  ),
  ...[
    '../../../../dev/null',
    '/proc/sys/kernel/randomize_va_space',
    'file:///dev/null',
    "' UNION SELECT 'secret' -- ",
    '| id',
    `${SIGNING_KID}\0`,
    ` ${SIGNING_KID}`,
    `${SIGNING_KID}/`,
    SIGNING_KID.toUpperCase(),
    'http://evil.example.test/key',
    '*',
  ].map((kid) => attack(`kid ${JSON.stringify(kid)}`, 'RFC 8725 §3.10', { header: { kid } })),
  ...[undefined, null, '', 0, true, [SIGNING_KID], { [SIGNING_KID]: 1 }].map((kid) =>
    attack(`kid ${JSON.stringify(kid) ?? 'missing'}`, 'GHSA-29f5-h73v-w8j9', { header: { kid } }),
  ),
];

const critical: readonly Attack[] = [
  attack('an unknown extension', 'CVE-2026-35042, CVE-2026-32597, CVE-2025-59420', {
    header: { crit: ['x-policy'], 'x-policy': 'mfa' },
  }),
  attack('an unencoded payload', 'RFC 7797 §6', { header: { crit: ['b64'], b64: false } }),
  attack('an unencoded payload that is encoded all the same', 'RFC 7797 §6', { header: { crit: ['b64'], b64: true } }),
  ...[[], ['alg'], ['exp', 'exp'], ['absent'], [1], [''], 'exp', null, 0, false, {}].map((crit) =>
    attack(`crit ${JSON.stringify(crit)}`, 'RFC 7515 §4.1.11', { header: { crit } }),
  ),
];

const types: readonly Attack[] = [
  ['logout+jwt', 'a logout token', 'RFC 8725 §3.11'],
  ['id+jwt', 'an ID token that says so', 'RFC 8725 §3.11'],
  ['dpop+jwt', 'a DPoP proof', 'RFC 9449 §4.2'],
  ['secevent+jwt', 'a security event token', 'RFC 8417 §2.3'],
  ['token-introspection+jwt', 'an introspection response', 'RFC 9701 §5'],
  ['oauth-authz-req+jwt', 'an authorization request', 'RFC 9101 §10.8'],
  ['application/logout+jwt', 'a logout token by its full media type', 'RFC 8725 §3.11'],
  ['', 'a token of an empty type', 'RFC 8725 §3.11'],
].map(([typ, name, advisory]) => attack(`${name} used as an access token`, advisory ?? '', { header: { typ } }));

const polluted: readonly Attack[] = [
  attack('a header whose __proto__ has its members', 'CVE-2024-34273', {
    headerText: `{"__proto__":{"alg":"RS256","kid":"${SIGNING_KID}"}}`,
  }),
  attack('a duplicate alg, the last one none', 'RFC 7515 §4', {
    headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","alg":"none"}`,
  }),
  attack('a duplicate kid, the last one unknown', 'RFC 7515 §4', {
    headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","kid":"unknown"}`,
  }),
  attack('a duplicate typ, the last one of a logout token', 'RFC 7515 §4', {
    headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","typ":"JWT","typ":"logout+jwt"}`,
  }),
  attack('crit by an escaped name', 'RFC 7515 §4.1.11', {
    headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","\\u0063rit":["exp"]}`,
  }),
  attack('an array as header', 'RFC 7515 §4', { headerText: `["RS256","${SIGNING_KID}"]` }),
  attack('a header with bytes that are no UTF-8', 'RFC 8259 §8.1', {
    headerText: Buffer.from(`{"alg":"RS256","kid":"${SIGNING_KID}","x":"\xff"}`, 'latin1'),
  }),
];

/** The header brings a key, picks the wrong one, is not understood, or belongs to another kind of token. */
export const headerAttacks: readonly Attack[] = [...embedded, ...kids, ...critical, ...types, ...polluted];
