import { Buffer } from 'node:buffer';
import { base64url, bytesOf, type Change, changePart } from '../forge/forge.ts';
import { headerText, update } from '../row/changes.ts';
import { tokens } from '../row/topic.ts';

// Tokens whose parts are cut, altered or encoded in another way.

/** Encodes a part in another way before it is signed. JSON allows blanks at its end, which give the part spare bits. */
const encodeOtherwise = (part: 'header' | 'payload', change: (encoded: string) => string): Change => ({
  respell: {
    part,
    as(encoded) {
      let spelt = encoded;
      while (spelt.length % 4 === 0) spelt = base64url(`${bytesOf(spelt)} `);
      return change(spelt);
    },
  },
});
/** Appends the padding that base64url omits. */
const pad = (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4, '=');
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Sets bits that base64url does not use: the part encodes the same bytes. */
const setSpareBits = (part: string, bits = 1) =>
  part.length % 4 === 0 ? `${part}A` : part.slice(0, -1) + alphabet.charAt(alphabet.indexOf(part.slice(-1)) ^ bits);
const insert = (text: string) => (part: string) => part.slice(0, 9) + text + part.slice(9);
const changeBytes = (index: number, change: (bytes: Buffer) => Uint8Array | string) =>
  changePart(index, (part) => base64url(change(bytesOf(part))));
const flipBit = (bytes: Buffer) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte));
const reshape = (change: (token: string) => string): Change => ({ reshape: change });

export const alteredTokens = tokens(
  'altered',
  {
    rule: 'RFC 8725 §3.3; RFC 7515 §5.2',
    needs: 'token',
    remedy: 'Verify, do not only decode, and let no claim of the token choose how',
    ownCode: 'Let a library for JOSE verify the token as it came, and look at its result',
  },
  {
    'payload-claims': [
      'a payload with more claims than were signed',
      changeBytes(1, (bytes) => `${bytes.toString().replace(/\}\s*$/, '')},"admin":true}`),
    ],
    'payload-replaced': ['a payload that was replaced', changeBytes(1, () => '{"admin":true}')],
    'payload-bit': ['a payload with one bit flipped', changeBytes(1, flipBit)],
    header: ['a header that was altered', changeBytes(0, (bytes) => `${bytes} `)],
    'signature-bit': ['a signature with one bit flipped', changeBytes(2, flipBit)],
    'signature-short': ['a signature that is a byte short', changeBytes(2, (bytes) => bytes.subarray(1))],
    'signature-zero': ['a zero byte before the signature', changeBytes(2, (bytes) => Buffer.of(0, ...bytes))],
    'signature-longer': ['a byte behind the signature', changeBytes(2, (bytes) => Buffer.of(...bytes, 0))],
    'signature-empty': ['a token without its signature', changePart(2, () => '')],
    'alg-none': [
      'the claims of a good token, with alg none and no signature',
      reshape((token) => `${base64url('{"alg":"none"}')}.${token.split('.')[1]}.`),
    ],
    'part-empty': ['nothing in the first or the second part', [changePart(0, () => ''), changePart(1, () => '')]],
    'two-parts': ['no signature part (CVE-2020-28042)', reshape((token) => token.replace(/\.[^.]*$/, ''))],
    'one-part': ['the header alone', reshape((token) => token.replace(/\..*/, ''))],
    'no-dots': ['the parts without dots', reshape((token) => token.split('.').join(''))],
  },
);

export const encodings = [
  ...tokens(
    'encoding',
    {
      rule: 'RFC 7515 §5.2',
      needs: 'token',
      level: 'should',
      remedy: update,
      ownCode: 'Decode base64url strictly: no padding, white space, other characters or spare bits',
    },
    {
      'padded-signature': ['a padded signature', changePart(2, pad)],
      'padded-header': ['a padded header', encodeOtherwise('header', pad), { needs: 'issuer' }],
      'padded-payload': ['a padded payload', encodeOtherwise('payload', pad), { needs: 'issuer' }],
      'spare-bits-header': [
        'spare bits in the header',
        encodeOtherwise('header', setSpareBits),
        { needs: 'issuer', rule: 'RFC 4648 §3.5' },
      ],
      'spare-bits-payload': [
        'spare bits in the payload',
        encodeOtherwise('payload', setSpareBits),
        { needs: 'issuer', rule: 'RFC 4648 §3.5' },
      ],
      'spare-bits-signature': [
        'each spare bit of the signature (CVE-2026-102269)',
        [1, 2, 4, 8].map((bit) =>
          changePart(2, (part) => setSpareBits(part, part.length % 4 === 3 ? bit % 3 || 3 : bit)),
        ),
        { rule: 'RFC 4648 §3.5' },
      ],
      'standard-alphabet': [
        'the alphabet of base64 (RFC 7515 §2)',
        [changePart(2, (part) => `+/${part.slice(2)}`), encodeOtherwise('payload', (part) => `${part.slice(0, -1)}+`)],
        { needs: 'issuer', level: 'must' },
      ],
      dangling: ['three more characters behind the signature', reshape((token) => `${token}AAA`), { level: 'must' }],
      'spare-three': ['a payload of three characters with spare bits', changePart(1, () => 'AAB'), { level: 'must' }],
      'percent-dot': ['a percent-encoded dot', reshape((token) => token.replace('.', '%2E'))],
      quotes: ['quotes around the token', reshape((token) => `"${token}"`)],
      'more-behind': [
        'dots or a part behind the token (CVE-2025-30204)',
        ['.', '.AAAA', '.'.repeat(3000)].map((more) => reshape((token) => token + more)),
        { level: 'must', rule: 'RFC 7515 §7.1; RFC 7519 §7.2' },
      ],
      'beyond-ascii': ['a byte beyond ASCII in the payload', changePart(1, insert('\u00e9')), { level: 'must' }],
      'other-characters': [
        'characters in the signature, or behind it, that base64url does not have (GHSA-3fvg-4v2m-98jf)',
        [
          ...['!@$%', '\\11'].map((more) => changePart(2, insert(more))),
          ...[',', '!!!!'].map((more) => changePart(2, (part) => part + more)),
        ],
      ],
    },
  ),
  ...tokens(
    'header',
    {
      rule: 'RFC 7515 §4; RFC 7519 §7.2',
      needs: 'issuer',
      remedy: update,
      ownCode: 'Parse the header as strict UTF-8 and JSON, require an object, and reject a member that is there twice',
    },
    {
      json: [
        'a header that is not a JSON object',
        ['not json', '{"alg":"RS256"', 'null', '"RS256"', '["RS256"]'].map((text) => ({ headerText: text })),
      ],
      deep: ['a header of six thousand brackets (CWE-674)', () => `${base64url('['.repeat(5800))}.e30.AA`],
      'not-utf8': [
        'a header that is not UTF-8 (RFC 8259 §8.1)',
        [
          { headerText: Uint8Array.of(0x22, 0xff, 0x22) },
          headerText((good) => Buffer.from(`${good.slice(0, -1)},"x":"\xff"}`, 'latin1')),
        ],
        { level: 'should' },
      ],
      'byte-order-mark': [
        'a byte order mark before the header',
        headerText((good) => `\ufeff${good}`),
        { level: 'should' },
      ],
      'repeated-kid': [
        'a second kid, unknown',
        headerText((good) => `${good.slice(0, -1)},"kid":"unknown"}`),
        { level: 'should', rule: 'RFC 7515 §4' },
      ],
      'repeated-typ': [
        'a second typ, logout+jwt',
        headerText((good) => `${good.slice(0, -1)},"typ":"logout+jwt"}`),
        { level: 'should', rule: 'RFC 7515 §4' },
      ],
    },
  ),
];
