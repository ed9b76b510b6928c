import { Buffer } from 'node:buffer';
import { nowSeconds } from '../../issuer/signer.ts';
import { type Base, type Forgery, forge } from '../forge.ts';
import { acceptedTokens, claims, headers, isScoped, type Row, topic } from '../row.ts';

// Tokens that the issuer signed, with claims, types and scopes that are not what the API wants, and some that are.

const other = 'https://other.invalid/';
/** A token with this text as the payload, for what JSON.stringify cannot produce. */
const payload =
  (write: (good: string, base: Base) => string | Uint8Array): Forgery =>
  (base) => ({ payloadText: write(JSON.stringify(base.claims()), base) });
const withMore = (more: string) => payload((good) => `${good.slice(0, -1)},${more}}`);
const iss = (...values: readonly ((issuer: string) => unknown)[]): readonly Forgery[] =>
  values.map((value) => ({ issuer }) => ({ claims: { iss: value(issuer) } }));
const aud = (...values: readonly ((audience: string) => unknown)[]): readonly Forgery[] =>
  values.map((value) => ({ audience }) => ({ claims: { aud: value(audience) } }));
const at = (name: string, ...seconds: readonly number[]): readonly Forgery[] => seconds.map((delta) => () => ({ claims: { [name]: nowSeconds() + delta } }));
const repeated = 'RFC 7519 §4';

/** What other kinds of tokens say of themselves. */
const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const idTokenOf = (audience: string) => ({ aud: audience, azp: audience, nonce: 'n', at_hash: 'AAAA', auth_time: 1 });

/** A token with scopes made of the one that is required. */
const scopes = (...values: readonly ((scope: string) => unknown)[]): readonly Forgery[] =>
  values.map((value) => ({ scope }) => ({ claims: { scope: value(scope) } }));

// biome-ignore format: a row is a line.
export const claimRows: readonly Row[] = [
  ...topic('accepts', { rule: 'RFC 7519', needs: 'issuer', level: 'should', remedy: 'Accept every token that the standards call valid' }, {
    'typ-any-case': ['typ JWT, at+jwt and application/at+jwt in other letters (RFC 7515 §4.1.9)', acceptedTokens(...headers('typ', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+JWT'))],
    'unknown-header': ['a member of the header that nobody knows (RFC 7515 §4)', acceptedTokens({ header: { 'x-note': { deep: [1] } } })],
    'unknown-claims': ['claims that nobody knows (RFC 7519 §4)', acceptedTokens({ claims: { azp: 'client-1', 'https://example.com/x': [{ y: null }], name: 'Zo\u00eb \ud83e\udd8a' } })],
    'aud-list': ['a list of audiences with the right one (RFC 7519 §4.1.3)', acceptedTokens(...aud((mine) => [mine], (mine) => [other, mine])), { level: 'must' }],
    'exp-fraction': ['an exp with a fraction (RFC 7519 §2)', acceptedTokens(() => ({ claims: { exp: nowSeconds() + 3600.5 } })), { level: 'must' }],
    'nbf-past': ['an nbf in the past (RFC 7519 §4.1.5)', acceptedTokens({ claims: { nbf: 1 } }), { level: 'must' }],
    'no-iat': ['no iat and no sub (RFC 7519 §4.1)', acceptedTokens({ claims: { iat: undefined, sub: undefined } })],
    'attacker-headers': ['a good signature, and jku and x5u of an attacker (RFC 8725 §3.10)', acceptedTokens(({ elsewhere }) => ({ header: { jku: elsewhere, x5u: elsewhere } }))],
  }),
  ...topic('issuer', { rule: 'RFC 8725 §3.8', needs: 'issuer', remedy: 'Compare iss with the issuer, exactly and as a string' }, {
    other: ['another issuer, by the same key', [...claims('iss', other), ...iss((it) => `${it}elsewhere`)]],
    missing: ['no iss', claims('iss', undefined, null, ''), { level: 'should', profiles: { rfc9068: 'must' } }],
    list: ['iss as a list with the issuer (CVE-2025-30144)', iss((it) => [it], (it) => [other, it])],
    object: ['iss as an object that names the issuer (CVE-2024-53861)', iss((it) => ({ [it]: true }))],
    part: ['the beginning of the issuer (CVE-2024-53861)', iss((it) => it.slice(0, 7))],
    slash: ['the issuer less its slash, or with one', iss((it) => (it.endsWith('/') ? it.slice(0, -1) : `${it}/`))],
    longer: ['the issuer and more', iss((it) => `${it}evil`)],
    case: ['the issuer in upper case', iss((it) => it.toUpperCase())],
    blank: ['the issuer behind a blank', iss((it) => ` ${it}`)],
    type: ['iss that is not a string', claims('iss', 0, true)],
    proto: ['claims in __proto__ (CVE-2024-34273)', payload((good) => `{"__proto__":${good}}`)],
    repeated: ['a second iss', withMore('"iss":"other"'), { level: 'should', rule: repeated }],
  }),
  ...topic('audience', { rule: 'RFC 7519 §4.1.3; RFC 8725 §3.9', needs: 'issuer', remedy: 'Require an aud that is this API, exactly, or a list that contains it' }, {
    other: ['a token for another audience', claims('aud', 'other', other)],
    'other-list': ['a list of other audiences', claims('aud', ['other'], [other, 'x'])],
    missing: ['no aud', claims('aud', undefined)],
    empty: ['an empty aud', claims('aud', '', [])],
    null: ['null for aud', claims('aud', null)],
    prefix: ['the beginning of the audience', aud((it) => it.slice(0, -1))],
    longer: ['the audience and more', aud((it) => `${it}x`, (it) => `${it}/`)],
    within: ['the audience within a text', aud((it) => `x ${it} y`)],
    case: ['the audience in upper case', aud((it) => it.toUpperCase())],
    nested: ['the audience in a list in a list', aud((it) => [[it]])],
    object: ['the audience as a member, or in an object like a list (CVE-2020-26160)', aud((it) => ({ 0: it, length: 1 }), (it) => ({ [it]: true }))],
    mixed: ['the audience in a list with a number or null', aud((it) => [it, 1], (it) => [null, it]), { level: 'should' }],
    number: ['a number for aud', claims('aud', 0)],
    'other-expired': ['another audience, and no good time', [{ claims: { aud: other, exp: 1 } }, { claims: { aud: other, exp: undefined } }, { claims: { aud: other, nbf: 2 ** 40 } }]],
    repeated: ['a second aud', withMore('"aud":"other"'), { level: 'should', rule: repeated }],
  }),
  ...topic('expiry', { rule: 'RFC 7519 §4.1.4', needs: 'issuer', remedy: 'Reject a token from the second of its exp on; allow for a few seconds of clock skew at most' }, {
    past: ['a token that expired an hour ago', at('exp', -3600)],
    'long-past': ['a token that expired in 1970, or before', claims('exp', 0, 1, -1, -1e308)],
    'five-minutes': ['a token that expired six minutes ago', at('exp', -360)],
    fraction: ['an exp an hour ago with digits behind the point (HSEC-2026-0010)', at('exp', -3600 + 0.0001)],
    now: ['an exp at this very second', at('exp', 0), { level: 'should' }],
    'no-scope': ['an expired token without a scope', { claims: { exp: 1, scope: '' } }],
    repeated: ['a second exp, past', withMore('"exp":1'), { level: 'should', rule: repeated }],
  }),
  ...topic('claims', { rule: 'RFC 7519 §4.1', needs: 'issuer', remedy: 'Check the types of the registered claims, and require an exp' }, {
    'exp-missing': ['no exp', claims('exp', undefined), { level: 'should', profiles: { rfc9068: 'must', fapi2: 'must' }, rule: 'RFC 9068 §2.2; RFC 7519 §4.1.4' }],
    'exp-text': ['an exp that is text (CVE-2026-25537)', claims('exp', '', '9999999999')],
    'exp-type': ['an exp of another type', claims('exp', null, true, [9999999999], {})],
    'exp-infinite': ['an exp of 1e400 or -1e400', [withMore('"exp":1e400'), withMore('"exp":-1e400')], { level: 'should', rule: 'RFC 8259 §6' }],
    'nbf-text': ['an nbf that is text (CVE-2026-25537)', claims('nbf', '', '0', '9999999999'), { level: 'should' }],
    'nbf-type': ['an nbf of another type', claims('nbf', false, [0], {}), { level: 'should' }],
    'nbf-infinite': ['an nbf of 1e400 or -1e400', [withMore('"nbf":1e400'), withMore('"nbf":-1e400')], { level: 'should', rule: 'RFC 8259 §6' }],
    'iat-type': ['an iat that is not a number', claims('iat', '0', [], {}), { level: 'should', rule: 'RFC 7519 §4.1.6' }],
    'sub-type': ['a sub that is not a string', claims('sub', 1, ['a'], {}), { level: 'should', rule: 'RFC 7519 §4.1.2' }],
    'client-id-type': ['a client_id that is not a string', claims('client_id', 1, ['a']), { level: 'should', rule: 'RFC 8693 §4.3' }],
    'not-json': ['a payload that is no JSON', ['not json', '{"iss":', ' ', '{"a":1}{'].map((text) => ({ payloadText: text })), { rule: 'RFC 7519 §7.2' }],
    'no-object': ['a payload that is not an object (CVE-2026-107723)', ['[]', 'null', 'true', '0', '"text"'].map((text) => ({ payloadText: text })), { rule: 'RFC 7519 §7.2' }],
    'in-list': ['claims in a list (CVE-2026-107723)', payload((good) => `[${good}]`), { rule: 'RFC 7519 §7.2' }],
    'more-behind': ['claims, and more behind them', payload((good) => `${good}{}`), { rule: 'RFC 7519 §7.2' }],
    'byte-order-mark': ['claims behind a byte order mark', payload((good) => `\ufeff${good}`), { level: 'should', rule: 'RFC 7519 §7.2' }],
    'not-utf8': ['claims that are not UTF-8', payload((good) => Buffer.from(`${good.slice(0, -1)},"sub":"\xff"}`, 'latin1')), { level: 'should', rule: 'RFC 8725 §3.7' }],
    nested: ['a JWT in a JWT', payload((_, base) => forge(base)), { rule: 'RFC 7519 §5.2' }],
  }),
  ...topic('notbefore', { rule: 'RFC 7519 §4.1.5', needs: 'issuer', remedy: 'Reject a token before its nbf' }, {
    hour: ['an nbf an hour ahead', at('nbf', 3600)],
    'six-minutes': ['an nbf six minutes ahead', at('nbf', 360)],
    never: ['an nbf of 1e308', claims('nbf', 1e308)],
    minute: ['an nbf a minute ahead', at('nbf', 60), { level: 'should' }],
  }),
  ...topic('crit', { rule: 'RFC 7515 §4.1.11', needs: 'issuer', remedy: 'Reject a token with crit, unless the API understands all that it lists' }, {
    unknown: ['an extension that nobody understands (CVE-2026-35042)', { header: { crit: ['x-policy'], 'x-policy': 'mfa' } }],
    b64: ['a payload that is not encoded: b64 false', { header: { crit: ['b64'], b64: false } }, { rule: 'RFC 7797 §7' }],
    absent: ['crit with a member that is absent', { header: { crit: ['absent'] } }],
    escaped: ['crit by an escaped name', ({ header }) => ({ headerText: `${JSON.stringify(header).slice(0, -1)},"\\u0063rit":["x-y"]}` })],
    standard: ['crit with members of the standard', headers('crit', ['alg'], ['exp', 'exp']), { level: 'should' }],
    malformed: ['crit that is not a list of names', headers('crit', [], [1], 'exp', null, {}), { level: 'should' }],
  }),
  ...topic('type', { rule: 'RFC 8725 §3.11', needs: 'issuer', level: 'should', profiles: { rfc9068: 'must' }, remedy: 'Accept the types of access tokens only: at+jwt, and where the issuer has it, JWT' }, {
    logout: ['typ logout+jwt', headers('typ', 'logout+jwt', 'application/logout+jwt')],
    id: ['typ id+jwt', headers('typ', 'id+jwt')],
    dpop: ['typ dpop+jwt', headers('typ', 'dpop+jwt')],
    event: ['typ secevent+jwt', headers('typ', 'secevent+jwt')],
    introspection: ['typ token-introspection+jwt', headers('typ', 'token-introspection+jwt')],
    request: ['typ oauth-authz-req+jwt', headers('typ', 'oauth-authz-req+jwt')],
    unlike: ['other texts for typ', headers('typ', 'JWS', ' JWT', '', 'at+jwt; charset=utf-8')],
    value: ['typ that is not a string', headers('typ', null, 1, ['JWT'])],
    jwt: ['typ JWT, or no typ', headers('typ', 'JWT', undefined), { skip: ({ profile }) => (profile === 'rfc9068' ? undefined : 'Only RFC 9068 §4 refuses it: --profile rfc9068') }],
  }),
  ...topic('kind', { rule: 'RFC 8725 §3.12', needs: 'issuer', level: 'should', remedy: 'Reject tokens of other kinds: by typ, by the audience, and by claims that name a kind' }, {
    'id-token': ['an ID token: its audience is a client', { claims: idTokenOf('client-1'), header: { typ: 'JWT' } }, { level: 'must', rule: 'RFC 8725 §2.8; RFC 9068 §5' }],
    'id-token-use': ['an ID token for this audience that says so in token_use', { claims: { token_use: 'id', nonce: 'n', at_hash: 'AAAA' }, header: { typ: 'JWT' } }],
    'id-typ': ['an ID token that says so in the claim typ', [{ claims: { typ: 'ID' } }, { claims: { token_type: 'id_token' } }]],
    'refresh-token': ['a refresh token that says so (RFC 6749 §1.5)', [{ claims: { typ: 'Refresh' } }, { claims: { token_use: 'refresh' } }, { claims: { token_usage: 'refresh_token' } }]],
    'offline-token': ['an offline token that says so', claims('typ', 'Offline')],
    'logout-token': ['a logout token of this audience (Back-Channel Logout §2.4)', { header: { typ: undefined }, claims: { events: logoutEvent, sid: 's' } }],
    'logout-other': ['a logout token: its audience is a client', { header: { typ: undefined }, claims: { aud: 'client-1', events: logoutEvent } }, { level: 'must' }],
  }),
  ...topic('scope', { rule: 'RFC 6750 §3.1; RFC 6749 §3.3', needs: 'issuer', remedy: 'Split scope at spaces and compare whole words, case-sensitively', skip: isScoped }, {
    none: ['a token without scope', scopes(() => undefined, () => '')],
    other: ['a token with another scope', scopes(() => 'openid profile')],
    prefix: ['scopes that begin with the required one', scopes((it) => `${it}:all`, (it) => `${it}s`)],
    part: ['a part of the required scope', scopes((it) => it.slice(0, -1), (it) => it.slice(1))],
    case: ['the scope in upper case', scopes((it) => it.toUpperCase())],
    joined: ['the scope joined by other characters', scopes((it) => `openid,${it}`, (it) => `openid\u00a0${it}`)],
    object: ['the scope as the member of an object', scopes((it) => ({ [it]: true }))],
    'list-joined': ['a list with one text of several scopes', scopes((it) => [`openid ${it}`]), { level: 'should' }],
    'list-mixed': ['a list with the scope and a number', scopes((it) => [it, 1]), { level: 'should' }],
    nested: ['the scope in a list in a list', scopes((it) => [[it]])],
    'among-others': ['the required scope among others', acceptedTokens(...scopes((it) => `openid ${it} profile`))],
  }),
];
