import { Buffer } from 'node:buffer';
import { forge } from '../forge/forge.ts';
import { at, claims, expiring, payload, repeated, update, withMore } from '../row/changes.ts';
import { tokens } from '../row/topic.ts';

// Tokens that the issuer signed, at another time than theirs, or whose claims have other types.

const skew = { remedy: 'Allow a few seconds of clock skew at most' } as const;
const checked = (claim: string) =>
  `Turn on the check of ${claim}: a library may have it off, or leave it to the caller`;

export const timeTokens = [
  ...tokens(
    'expiry',
    {
      rule: 'RFC 7519 §4.1.4',
      needs: 'issuer',
      remedy: checked('exp'),
      ownCode: 'Reject a token from the second of its exp on',
    },
    {
      past: [
        'a token that expired an hour ago',
        () => expiring(-3600),
        {
          remedy: 'Allow seconds of clock skew, not hours, and compare exp in seconds: it is checked, but too late',
          ownCode: 'Add at most seconds to exp, and compare seconds with seconds',
        },
      ],
      'long-past': ['a token that expired in 1970, or before', claims('exp', 0, 1, -1, -1e308)],
      'five-minutes': [
        'a token that expired six minutes ago',
        () => expiring(-360),
        { ...skew, ownCode: 'Add at most seconds to exp' },
      ],
      fraction: ['an exp an hour ago with digits behind the point (HSEC-2026-0010)', () => expiring(-3600 + 0.0001)],
      now: [
        'an exp at this very second',
        () => expiring(0),
        { ...skew, level: 'should', ownCode: 'Reject a token at the second of its exp' },
      ],
      'no-scope': ['an expired token without a scope', { claims: { exp: 1, scope: '' } }],
      repeated: ['a second exp, past', withMore('"exp":1'), repeated],
    },
  ),
  ...tokens(
    'notbefore',
    { rule: 'RFC 7519 §4.1.5', needs: 'issuer', remedy: checked('nbf'), ownCode: 'Reject a token before its nbf' },
    {
      hour: ['an nbf an hour ahead', at('nbf', 3600)],
      'six-minutes': [
        'an nbf six minutes ahead',
        at('nbf', 360),
        { ...skew, ownCode: 'Take at most seconds from nbf' },
      ],
      never: ['an nbf of 1e308', claims('nbf', 1e308)],
      minute: [
        'an nbf a minute ahead',
        at('nbf', 60),
        { ...skew, level: 'should', ownCode: 'Take at most seconds from nbf' },
      ],
    },
  ),
];

const asJson = {
  rule: 'RFC 7519 §7.2',
  remedy: update,
  ownCode: 'Parse the payload as strict UTF-8 and JSON, and require an object',
};
export const claimTokens = tokens(
  'claims',
  {
    rule: 'RFC 7519 §4.1',
    needs: 'issuer',
    remedy: 'Update the library, or check the claims in its callback for rules of an application',
    ownCode: 'Check the type of each registered claim: exp, nbf and iat are finite numbers, sub and client_id text',
  },
  {
    'exp-missing': [
      'no exp',
      claims('exp', undefined),
      {
        level: 'should',
        profiles: { rfc9068: 'must', fapi2: 'must' },
        rule: 'RFC 9068 §2.2; RFC 7519 §4.1.4',
        remedy: 'Require exp, do not only check it: a token without it never ends',
        ownCode: 'Reject a token without exp',
      },
    ],
    'exp-text': ['an exp that is text (CVE-2026-25537)', claims('exp', '', '9999999999')],
    'exp-type': ['an exp of another type', claims('exp', null, true, [9999999999], {})],
    'exp-infinite': [
      'an exp of 1e400 or -1e400',
      [withMore('"exp":1e400'), withMore('"exp":-1e400')],
      { level: 'should', rule: 'RFC 8259 §6' },
    ],
    'nbf-text': ['an nbf that is text (CVE-2026-25537)', claims('nbf', '', '0', '9999999999'), { level: 'should' }],
    'nbf-type': ['an nbf of another type', claims('nbf', false, [0], {}), { level: 'should' }],
    'nbf-infinite': [
      'an nbf of 1e400 or -1e400',
      [withMore('"nbf":1e400'), withMore('"nbf":-1e400')],
      { level: 'should', rule: 'RFC 8259 §6' },
    ],
    'iat-type': [
      'an iat that is not a number',
      claims('iat', '0', [], {}),
      { level: 'should', rule: 'RFC 7519 §4.1.6' },
    ],
    'sub-type': [
      'a sub that is not a string',
      claims('sub', 1, ['a'], {}),
      { level: 'should', rule: 'RFC 7519 §4.1.2' },
    ],
    'client-id-type': [
      'a client_id that is not a string',
      claims('client_id', 1, ['a']),
      { level: 'should', rule: 'RFC 8693 §4.3' },
    ],
    'not-json': [
      'a payload that is no JSON',
      ['not json', '{"iss":', ' ', '{"a":1}{'].map((text) => ({ payloadText: text })),
      asJson,
    ],
    'no-object': [
      'a payload that is not an object (CVE-2026-107723)',
      ['[]', 'null', 'true', '0', '"text"'].map((text) => ({ payloadText: text })),
      asJson,
    ],
    'in-list': ['claims in a list (CVE-2026-107723)', payload((good) => `[${good}]`), asJson],
    'more-behind': ['claims, and more behind them', payload((good) => `${good}{}`), asJson],
    'byte-order-mark': [
      'claims behind a byte order mark',
      payload((good) => `\ufeff${good}`),
      { ...asJson, level: 'should' },
    ],
    'not-utf8': [
      'claims that are not UTF-8',
      payload((good) => Buffer.from(`${good.slice(0, -1)},"sub":"\xff"}`, 'latin1')),
      { ...asJson, level: 'should', rule: 'RFC 8725 §3.7' },
    ],
    nested: ['a JWT in a JWT', payload((_, base) => forge(base)), { rule: 'RFC 7519 §5.2' }],
  },
);
