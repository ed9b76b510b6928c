import { encryptedTo } from '../forge/encryption.ts';
import { type Base, base64url, type Forgery, forge, withSignature } from '../forge/forge.ts';
import type { Trial } from '../row/row.ts';
import { tokens } from '../row/topic.ts';

// Texts that are no signed tokens, and tokens that the user was given.

const serialized = (base: Base) => {
  const [header, payload, signature] = forge(base).split('.');
  return { protected: header, payload, signature };
};
/** A token in the format of a JWE (RFC 7516 §7.1), for which there is no key. */
const encrypted =
  (header: object): Forgery =>
  ({ header: { kid } }) => {
    const all = { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid, ...header };
    return `${base64url(JSON.stringify(all))}.${'A'.repeat(342)}.AAAAAAAAAAAAAAAA.AAAA.AAAA`;
  };
/** A token without a signature in a JWE to the public key of the issuer, which the API may have as its own. */
const encryptedUnsigned: Forgery = (base) => {
  const unsigned = forge(base, { header: { alg: 'none', kid: undefined }, signWith: () => new Uint8Array() });
  return encryptedTo(base.publicKey ?? {}, { cty: 'JWT', kid: base.header.kid }, unsigned);
};
const plain = (...all: readonly string[]): readonly Forgery[] => all.map((text) => () => text);
const givenToken = (name: string) => [({ given }: Trial['base']) => String(given?.[name])] as const;
const isGiven = (name: string) => ({
  skip: ({ base }: Trial) => (base.given?.[name] === undefined ? 'No such token was given' : undefined),
});

export const texts = [
  ...tokens(
    'text',
    {
      rule: 'RFC 7519 §7.2',
      needs: 'nothing',
      remedy: 'Let a library for JWTs read the token, and nothing before or after it',
      ownCode: 'Require three parts of base64url, two of them objects of JSON, before anything else',
    },
    {
      opaque: [
        'texts that are no JWT',
        plain('ory_at_opaque.too', '.', 'a', 'null', 'undefined', '{"payload":"e30"}'),
        {
          remedy: 'Reject every text that is no signed token: here some pass without a check',
          ownCode: 'Treat a text that cannot be decoded as a bad token, not as none',
        },
      ],
      'object-members': [
        'names of members that every object has (CWE-1321)',
        plain('__proto__', 'constructor', 'toString'),
      ],
      dots: ['dots, and letters between them (CVE-2025-30204)', plain('..', '.'.repeat(4000), 'eyJ', 'a.b.c')],
      'empty-objects': ['three empty objects', plain('e30.e30.e30')],
      flattened: [
        'a flattened JSON serialization (CVE-2022-39227)',
        (base) => JSON.stringify(serialized(base)),
        { needs: 'token' },
      ],
      general: [
        'a general JSON serialization (CVE-2022-39227)',
        (base) => JSON.stringify({ payload: serialized(base).payload, signatures: [serialized(base)] }),
        { needs: 'token' },
      ],
      'json-around': [
        'a JSON serialization around a token (CVE-2022-39227)',
        (base) => `{"${withSignature(forge(base), '')}":"",${JSON.stringify(serialized(base)).slice(1)}`,
        { needs: 'token' },
      ],
    },
  ),
  ...tokens(
    'encrypted',
    {
      rule: 'RFC 7519 §7.2',
      needs: 'nothing',
      remedy: 'Turn off decryption, unless the issuer encrypts tokens; then require a signed token within',
      ownCode: 'Reject tokens in five parts, or verify the signature of what was decrypted',
    },
    {
      'five-parts': [
        'a signed token with two parts more',
        { reshape: (token) => `${token}.AAAA.AAAA` },
        { needs: 'token' },
      ],
      nested: ['a JWE around a token (CVE-2026-29000)', encrypted({ cty: 'JWT' })],
      unsigned: [
        "a JWE to the issuer's public key around a token without a signature (CVE-2026-29000)",
        encryptedUnsigned,
        { skip: ({ base }) => (base.publicKey?.n ? undefined : "The issuer's RSA key is not known") },
      ],
      rs256: ['a JWE that says RS256 of itself (CVE-2026-29000)', encrypted({ alg: 'RS256' })],
      compressed: ['a JWE that is compressed (CVE-2024-28176)', encrypted({ zip: 'DEF' })],
      pbkdf2: [
        'a JWE with rounds of PBKDF2 (CVE-2022-36083)',
        encrypted({ alg: 'PBES2-HS256+A128KW', p2c: 1e7, p2s: 'AA' }),
      ],
    },
  ),
];

export const givenTokens = tokens(
  'given',
  {
    rule: 'RFC 6750 §3.1',
    needs: 'token',
    remedy: 'Set the audience, the type, the scope and a small allowance for clock skew',
    ownCode: 'Check exp, aud, scope and the kind of each token',
  },
  {
    expired: ['a token that has expired', givenToken('expired'), isGiven('expired')],
    audience: ['a token for another audience', givenToken('audience'), isGiven('audience')],
    scope: ['a token without the scope', givenToken('scope'), isGiven('scope')],
    id: ['an ID token', givenToken('id'), isGiven('id')],
  },
);
