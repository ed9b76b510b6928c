import { audiences, headers, oddType, other, scopes } from '../row/changes.ts';
import { acceptedTokens, isScoped, tokens } from '../row/topic.ts';
import { nowSeconds } from '../values/time.ts';

// Good tokens that must be accepted, and tokens without the scope of the target.

export const goodTokens = tokens(
  'accepts',
  {
    rule: 'RFC 7519',
    needs: 'issuer',
    level: 'should',
    remedy: 'Remove settings that demand more than the standards do, such as a typ in exact letters',
    ownCode: 'Ignore what you do not know, and read aud, exp and typ as the standards have them',
  },
  {
    'typ-any-case': [
      'typ JWT, at+jwt and application/at+jwt in other letters (RFC 7515 §4.1.9)',
      acceptedTokens(...headers('typ', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+JWT')),
    ],
    'unknown-header': [
      'a member of the header that nobody knows (RFC 7515 §4)',
      acceptedTokens({ header: { 'x-note': { deep: [1] } } }),
    ],
    'unknown-claims': [
      'claims that nobody knows (RFC 7519 §4)',
      acceptedTokens({
        claims: { azp: 'client-1', 'https://example.com/x': [{ y: null }], name: 'Zo\u00eb \ud83e\udd8a' },
      }),
    ],
    'aud-list': [
      'a list of audiences with the right one (RFC 7519 §4.1.3)',
      acceptedTokens(...audiences((it) => [[it], [other, it]])),
      { level: 'must' },
    ],
    'exp-fraction': [
      'an exp with a fraction (RFC 7519 §2)',
      acceptedTokens(() => ({ claims: { exp: nowSeconds() + 3600.5 } })),
      { level: 'must' },
    ],
    'nbf-past': ['an nbf in the past (RFC 7519 §4.1.5)', acceptedTokens({ claims: { nbf: 1 } }), { level: 'must' }],
    'no-iat': ['no iat (RFC 7519 §4.1.6)', acceptedTokens({ claims: { iat: undefined } })],
    'attacker-headers': [
      'a good signature, and jku and x5u of an attacker (RFC 8725 §3.10)',
      acceptedTokens(({ elsewhere }) => ({ header: { jku: elsewhere, x5u: elsewhere } })),
    ],
  },
);

export const scopeTokens = tokens(
  'scope',
  {
    rule: 'RFC 6750 §3.1; RFC 6749 §3.3',
    needs: 'issuer',
    remedy: 'Check the scope of the route: compare it with each word of the claim scope',
    ownCode: 'Split scope at spaces and compare whole words, case-sensitively',
    skip: isScoped,
  },
  {
    none: ['a token without scope', scopes(() => [undefined, ''])],
    'one-of-several': [
      'each of several required scopes alone',
      [
        (base) => ({ claims: { scope: base.scope.split(' ')[0] } }),
        (base) => ({ claims: { scope: base.scope.split(' ').at(-1) } }),
      ],
      { skip: ({ base }) => (base.scope.includes(' ') ? undefined : 'The target requires one scope') },
    ],
    other: ['a token with another scope', scopes(() => ['openid profile'])],
    prefix: ['scopes that begin with the required one', scopes((it) => [`${it}:all`, `${it}s`])],
    part: ['a part of the required scope', scopes((it) => [it.slice(0, -1), it.slice(1)])],
    case: ['the scope in upper case', scopes((it) => [it.toUpperCase()])],
    joined: ['the scope joined by other characters', scopes((it) => [`openid,${it}`, `openid\u00a0${it}`])],
    object: ['the scope as the member of an object', scopes((it) => [{ [it]: true }]), oddType],
    'list-joined': ['a list with one text of several scopes', scopes((it) => [[`openid ${it}`]]), oddType],
    'list-mixed': ['a list with the scope and a number', scopes((it) => [[it, 1]]), oddType],
    nested: ['the scope in a list in a list', scopes((it) => [[[it]]]), oddType],
    'among-others': ['the required scope among others', acceptedTokens(...scopes((it) => [`openid ${it} profile`]))],
  },
);
