import type { Forgery } from '../forge/forge.ts';
import { audiences, claims, issuers, oddType, other, payload, repeated, update, withMore } from '../row/changes.ts';
import { tokens } from '../row/topic.ts';

// Tokens that the issuer signed, from another issuer or for another audience.

/** A library that compares a claim may pass a token that lacks it. */
const required = (claim: string) => `Require ${claim}, do not only compare it: a token without it passes`;

const withoutIss = {
  profiles: { rfc9068: 'must' },
  remedy: required('iss'),
  ownCode: 'Reject a token without iss',
} as const;

export const issuerTokens = tokens(
  'issuer',
  {
    rule: 'RFC 8725 §3.8',
    needs: 'issuer',
    remedy: 'Require iss, and compare it with the issuer exactly as its metadata have it',
    ownCode: 'Compare iss with the issuer, exactly and as a string',
  },
  {
    other: ['another issuer, by the same key', [...claims('iss', other), ...issuers((it) => [`${it}elsewhere`])]],
    missing: ['no iss', claims('iss', undefined, null, ''), { ...withoutIss, level: 'should' }],
    list: ['iss as a list with the issuer (CVE-2025-30144)', issuers((it) => [[it], [other, it]]), oddType],
    object: ['iss as an object that names the issuer (CVE-2024-53861)', issuers((it) => [{ [it]: true }]), oddType],
    http: [
      'the issuer with http for https, or https for http',
      issuers((it) => [it.replace(/^https?/, (scheme) => (scheme === 'https' ? 'http' : 'https'))]),
    ],
    part: ['the beginning of the issuer (CVE-2024-53861)', issuers((it) => [it.slice(0, 7)])],
    slash: ['the issuer less its slash, or with one', issuers((it) => [it.endsWith('/') ? it.slice(0, -1) : `${it}/`])],
    longer: ['the issuer and more', issuers((it) => [`${it}evil`])],
    case: ['the issuer in upper case', issuers((it) => [it.toUpperCase()])],
    blank: ['the issuer behind a blank', issuers((it) => [` ${it}`])],
    type: ['iss that is not a string', claims('iss', 0, true)],
    proto: ['claims in __proto__ (CVE-2024-34273)', payload((good) => `{"__proto__":${good}}`)],
    repeated: ['a second iss', withMore('"iss":"other"'), repeated],
  },
);

export const audienceTokens = tokens(
  'audience',
  {
    rule: 'RFC 7519 §4.1.3; RFC 8725 §3.9',
    needs: 'issuer',
    remedy: 'Require aud, and compare it exactly with the identifier of this API',
    ownCode: 'Require an aud that is this API, exactly, or a list of strings that contains it',
  },
  {
    other: ['a token for another audience', claims('aud', 'other', other)],
    'other-list': ['a list of other audiences', claims('aud', ['other'], [other, 'x'])],
    missing: ['no aud', claims('aud', undefined), { remedy: required('aud'), ownCode: 'Reject a token without aud' }],
    empty: ['an empty aud', claims('aud', '', [])],
    null: ['null for aud', claims('aud', null)],
    prefix: ['the beginning of the audience', audiences((it) => [it.slice(0, -1)])],
    longer: ['the audience and more', audiences((it) => [`${it}x`, `${it}/`])],
    within: ['the audience within a text', audiences((it) => [`x ${it} y`])],
    case: ['the audience in upper case', audiences((it) => [it.toUpperCase()])],
    nested: ['the audience in a list in a list', audiences((it) => [[[it]]]), oddType],
    object: [
      'the audience as a member, or in an object like a list (CVE-2020-26160)',
      audiences((it) => [{ 0: it, length: 1 }, { [it]: true }]),
      oddType,
    ],
    mixed: [
      'the audience in a list with a number or null',
      audiences((it) => [
        [it, 1],
        [null, it],
      ]),
      { level: 'should', remedy: update, ownCode: 'Require an aud that is text, or a list of nothing but text' },
    ],
    number: ['a number for aud', claims('aud', 0)],
    'other-expired': [
      'another audience, and no good time',
      [
        { claims: { aud: other, exp: 1 } },
        { claims: { aud: other, exp: undefined } },
        { claims: { aud: other, nbf: 2 ** 40 } },
      ],
    ],
    'authorized-party': [
      'the audience in azp or client_id, and another in aud (RFC 9068 §5)',
      ['azp', 'client_id', 'resource'].map(
        (name): Forgery =>
          ({ audience }) => ({ claims: { aud: other, [name]: audience } }),
      ),
    ],
    repeated: ['a second aud', withMore('"aud":"other"'), repeated],
  },
);
