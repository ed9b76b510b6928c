import { type Forgery, strangersKey } from '../forge/forge.ts';
import { headers } from '../row/changes.ts';
import { tokens } from '../row/topic.ts';

// Tokens that nobody signed, or by an algorithm that the issuer does not have.

const nones = ['none', 'None', 'NONE', 'nOnE'];
const unsigned = (alg: string, members: object = {}): Forgery => ({
  header: { alg, ...members },
  signWith: () => new Uint8Array(),
});

export const algorithmTokens = [
  ...tokens(
    'none',
    {
      rule: 'RFC 8725 §2.1, §3.2',
      needs: 'nothing',
      remedy: 'List the algorithms that the API accepts: never take that of the token',
      ownCode: 'Compare alg with a list of your own before you look for a key',
    },
    {
      'empty-signature': ['a token with alg none and no signature (CVE-2022-23540)', unsigned('none')],
      spellings: ['tokens with alg None, NONE or nOnE, and no signature', nones.slice(1).map((alg) => unsigned(alg))],
      'other-type': [
        'tokens with alg none, no signature, and another typ or none',
        [undefined, 'JWT', 'jwt', 'JWS', 'none'].map((typ) => unsigned('none', { typ })),
      ],
      signed: ['tokens with alg none, however it is spelled, and a signature', headers('alg', ...nones)],
      'no-signature-part': [
        'a token with alg none in two parts (CVE-2020-28042)',
        { header: { alg: 'none' }, reshape: (token) => token.replace(/\.[^.]*$/, '') },
      ],
      'second-alg': [
        'a header with two members alg, the second none',
        ({ header }) => ({
          headerText: `${JSON.stringify(header).slice(0, -1)},"alg":"none"}`,
          signWith: () => new Uint8Array(),
        }),
      ],
    },
  ),
  ...tokens(
    'alg',
    {
      rule: 'RFC 8725 §3.1; RFC 7515 §4.1.1',
      needs: 'issuer',
      remedy: 'List the algorithms that the API accepts, and publish alg with each key',
      ownCode: 'Take the algorithm from the key and your own list, and compare alg with it exactly',
    },
    {
      ps256: [
        'a real signature of PS256 by a key for RS256 (CVE-2026-22817)',
        { header: { alg: 'PS256' }, signedAs: 'PS256' },
      ],
      ps512: ['a real signature of PS512 by a key for RS256', { header: { alg: 'PS512' }, signedAs: 'PS512' }],
      rs384: ['a real signature of RS384 by a key for RS256', { header: { alg: 'RS384' }, signedAs: 'RS384' }],
      rs512: ['a real signature of RS512 by a key for RS256', { header: { alg: 'RS512' }, signedAs: 'RS512' }],
      es256: [
        'ES256, signed by an EC key of an attacker',
        () => ({ header: { alg: 'ES256' }, signedAs: 'ES256', key: strangersKey('ES256') }),
      ],
      missing: ['no alg', headers('alg', undefined, null, '')],
      type: ['alg that is not a string', headers('alg', 0, [], ['RS256'], { RS256: 1 })],
      spelling: ['alg in other spellings', headers('alg', 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256')],
      empty: ['an empty object as header', { headerText: '{}' }],
      proto: [
        'a header whose members are in __proto__ (CVE-2024-34273)',
        ({ header }) => ({ headerText: `{"__proto__":${JSON.stringify(header)}}` }),
      ],
    },
  ),
];
