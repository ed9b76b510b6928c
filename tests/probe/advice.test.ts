import { describe, expect, test } from 'bun:test';
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { stackNames } from '../../src/probe/advice/advice.ts';
import { stacks } from '../../src/probe/advice/stacks.ts';
import { type ProbeOptions, probe } from '../../src/probe/index.ts';
import { summaryOf } from '../../src/probe/report/harm.ts';
import { rows } from '../../src/probe/run/rows.ts';

type Claims = Readonly<Record<string, unknown>>;
const second = () => Date.now() / 1000;

/** Tries an API that checks the signature, and then what is given. */
async function tried(
  isRight: (claims: Claims, audience: string, issuer: string) => boolean,
  options: Partial<ProbeOptions> = {},
  headers = {},
  isVerified = true,
) {
  const issuer = await createTestIssuer();
  const { keys, audience, issuer: name } = issuer.options;
  const keySet = createLocalJWKSet(keys as JSONWebKeySet);
  const far = { clockTolerance: 1e12, currentDate: new Date(1e12) };
  return probe({
    ...{ issuer, targets: ['https://api.invalid/'], ...options },
    async fetch(request) {
      const [, token = ''] = /^Bearer ([\w.-]+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
      try {
        const claims = isVerified ? (await jwtVerify(token, keySet, far)).payload : decodeJwt(token);
        if (isRight(claims, audience, name)) return Response.json({ hello: claims.sub }, { headers });
      } catch {
        // It is rejected.
      }
      return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer', ...headers } });
    },
  });
}
const hasAudience = ({ aud }: Claims, audience: string) => [aud].flat().includes(audience);
const isInTime = ({ exp, nbf = 0 }: Claims, skew = 5) => Number(exp) > second() - skew && Number(nbf) < second() + skew;
const isFrom = ({ iss }: Claims, issuer: string) => iss === issuer;

/** The first sentence of advice goes to the cause. */
describe('the first advice', () => {
  type Wrong = readonly [what: string, isRight: Parameters<typeof tried>[0], only: string, words: RegExp, not: RegExp];
  test.each<Wrong>([
    [
      'where nothing checks nbf',
      (c, a, i) => hasAudience(c, a) && isFrom(c, i) && Number(c.exp) > second(),
      'notbefore',
      /Turn on the check of nbf/,
      /skew/,
    ],
    [
      'where nbf has too much skew',
      (c, a, i) => hasAudience(c, a) && isFrom(c, i) && isInTime(c, 900),
      'notbefore',
      /clock skew/,
      /Turn on/,
    ],
    [
      'where nothing checks exp',
      (c, a, i) => hasAudience(c, a) && isFrom(c, i),
      'expiry',
      /Turn on the check of exp/,
      /skew/,
    ],
    [
      'where aud is compared if it is there',
      (c, a, i) => (c.aud === undefined || hasAudience(c, a)) && isFrom(c, i) && isInTime(c),
      'audience',
      /Require aud, do not only compare it/,
      /identifier of this API/,
    ],
    [
      'where nothing checks aud',
      (c, _, i) => isFrom(c, i) && isInTime(c),
      'audience',
      /Require aud, and compare it exactly/,
      /do not only compare/,
    ],
    [
      'where iss is compared if it is there',
      (c, a, i) =>
        (c.iss === undefined || c.iss === null || c.iss === '' || isFrom(c, i)) && hasAudience(c, a) && isInTime(c),
      'issuer',
      /Require iss, do not only compare it/,
      /exactly as its metadata/,
    ],
  ])('%s', async (_, isRight, only, words, not) => {
    const report = await tried(isRight, { only: [only] });
    const first = summaryOf(report).replace(/^.*First, for \S+: /, '');
    expect(first).toMatch(words);
    expect(first).not.toMatch(not);
  });

  test('is about the signature where nothing verifies it, once', async () => {
    const report = await tried(() => true, { only: ['signature', 'altered', 'none', 'embedded'] }, {}, false);
    expect(new Set(report.failed.map(({ remedy }) => remedy)).size).toBe(1);
  });
});

describe('the settings of a stack', () => {
  const lax: Parameters<typeof tried>[0] = () => true;
  test.each<[what: string, options: Partial<ProbeOptions>, headers: Record<string, string>, words: RegExp | undefined]>(
    [
      ['are those of the stack that is named', { stack: 'pyjwt' }, {}, /^In PyJWT: audience="…"/],
      [
        'say that they are from the documentation',
        { stack: 'spring' },
        {},
        /^In Spring Security: .*\(from its documentation\)$/,
      ],
      [
        'go by what the server says',
        {},
        { server: 'Kestrel' },
        /^A header says Kestrel\. In ASP\.NET Core JwtBearer: ValidAudience/,
      ],
      [
        'are those of every library that such a server may have',
        {},
        { 'x-powered-by': 'Express' },
        /^A header says Express\. In jose, jsonwebtoken, express-jwt, or passport-jwt: audience: … \(from its documentation\)$/,
      ],
      ['of jsonwebtoken are those of npm', { stack: 'jsonwebtoken' }, {}, /^In jsonwebtoken: audience: …/],
      ['go by the name before what the server says', { stack: 'pyjwt' }, { 'x-powered-by': 'Express' }, /^In PyJWT: /],
      ['are none if nothing is known', {}, {}, undefined],
    ],
  )('%s', async (_, options, headers, words) => {
    const report = await tried(lax, { only: ['audience-other'], ...options }, headers);
    const [row] = report.failed;
    if (words) expect(row?.setting).toMatch(words);
    else expect(row?.setting).toBeUndefined();
    expect(report.render(false, 1000).includes('For the settings of a library')).toBe(words === undefined);
  });

  test('are a mistake for a stack that is unknown', () =>
    expect(tried(lax, { stack: 'cobol' })).rejects.toThrow(/^Cannot probe: cobol is no stack, choose one of pyjwt, /));

  test('have the rule in words without a product, and each stack the settings that matter most', () => {
    const products = /\bjose\b|jsonwebtoken|PyJWT|Spring|\.NET|express-|fastify|fast-jwt|jwks-rsa|passport/;
    expect(rows.filter(({ remedy }) => products.test(remedy)).map(({ id }) => id)).toEqual([]);
    for (const name of stackNames)
      expect(Object.keys(stacks[name]?.settings ?? {})).toEqual(
        expect.arrayContaining(['algorithms', 'audience', 'issuer']),
      );
  });
});
