import { describe, expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import { createGuard } from '../../../src/auth/index.ts';
import { ISSUER, offline, tokenOf } from '../../support/checked.ts';
import { AUDIENCE } from '../../support/mint.ts';

const unset = 'the client sent a variable that was not set, or a placeholder, instead of a token';
const token = tokenOf();
const [header = '', claims = '', signature = ''] = token.split('.');
const pad = (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4 + 1, '=');

describe('explainToken() says what was sent instead of a token', () => {
  test.each<[text: string, advice: string]>([
    ...['undefined', 'null', 'None', 'NaN', '[object Object]', '[object Promise]', `\${TOKEN}`, '$TOKEN'].map(
      (word) => [word, unset] as [string, string],
    ),
    ...['<token>', '<YOUR TOKEN>', '{{ token }}', `\${env:TOKEN}`, `\${input:api-token}`, '%TOKEN%'].map(
      (word) => [word, unset] as [string, string],
    ),
    ...[`"${token}"`, `'${token}'`, `{${token}}`, `{{${token}}}`, `<${token}>`, `[${token}]`].map(
      (word) => [word, 'the client sent the token in quotes or brackets: remove them'] as [string, string],
    ),
    [btoa(token), 'the token is encoded in base64, as in a Secret of Kubernetes: decode it'],
    [`${header}.${claims.slice(0, 20)}...`, 'the token was cut: it has 2 of 3 parts'],
    [`${header}.${claims}`, 'the token was cut: it has 2 of 3 parts'],
    [`${header}.${claims}.`, 'the token was cut: it has 2 of 3 parts'],
    [header, 'the token was cut: it has 1 of 3 parts'],
    [token.slice(0, -1), 'the token was probably cut: its signature has 341 characters, '],
    [token.replace('.', '.!'), 'the token was probably cut or changed: its payload is not JSON'],
    [`${header}.${claims}.SIGNATURE_REMOVED_BY_GOOGLE`, 'Google Cloud Run has replaced the signature. '],
    [`${pad(header)}.${pad(claims)}.${pad(signature)}`, 'a part ends with =, as in x-amzn-oidc-data'],
  ])('Bearer %s', async (text, advice) => {
    const explained = await explainToken(`Authorization: Bearer ${text}`, offline());
    expect([400, 401]).toContain(explained.status ?? 0);
    expect(explained.advice).toStartWith(advice);
  });

  test('no check of claims is listed for a text that has none, but for one without a payload', async () => {
    const formsOf = async (text: string) =>
      (await explainToken(text, offline())).checks.filter(({ name }) => name === 'forms').length;
    expect(await Promise.all(['opaque', '', 'a.b.c.d.e', `${header}.e30.${signature}`].map(formsOf))).toEqual([
      0, 0, 0, 1,
    ]);
  });

  test('a token in the quotes of a command or of JSON is one', async () => {
    for (const text of [`"${token}"`, `-H "Authorization: Bearer ${token}"`])
      expect((await explainToken(text, offline())).status).toBe(200);
  });
});

test('the words of a variable that was not set are not given to introspect', async () => {
  const asked: string[] = [];
  const introspect = (opaque: string) => {
    asked.push(opaque);
    return { active: false };
  };
  const guard = createGuard({ issuer: ISSUER, audience: AUDIENCE, introspect });
  for (const word of ['undefined', 'null', 'None', 'NaN', 'false', `\${TOKEN}`, '<token>', 'opaque']) {
    const request = new Request('https://api.example.test/', { headers: { authorization: `Bearer ${word}` } });
    expect(await guard.check(request)).toBeInstanceOf(Response);
  }
  expect(asked).toEqual(['opaque']);
});

const audience = (claims: object, options: object = {}) =>
  explainToken(tokenOf({ claims: { azp: AUDIENCE, ...claims } }), { ...offline(), audienceClaim: 'azp', ...options });

test('explainToken() says that aud wins over another claim, even if it is empty', async () => {
  const wins = 'aud wins: audienceClaim counts only for a token without aud';
  for (const aud of [[], 'other', ['other']]) expect((await audience({ aud })).advice).toEndWith(wins);
  expect((await audience({ aud: 'other' }, { audienceClaim: 'aud' })).advice).not.toContain('aud wins');
  expect((await audience({ aud: undefined })).status).toBe(200);
});
