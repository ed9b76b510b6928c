import { expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import type { Requirements } from '../../../src/auth/guard.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { nowSeconds } from '../../support/mint.ts';

const wrapped = (token: string) => token.replace(/.{60}/g, '$&\n');
test.each<[name: string, paste: (token: string) => string]>([
  ['white space around it', (token) => ` ${token}\n`],
  ['the line breaks of a terminal', wrapped],
  ['its scheme', (token) => `bearer ${token}`],
  ['the whole header', (token) => `authorization:DPoP  ${wrapped(token)}`],
  ['the header of a curl command', (token) => `-H 'Authorization: Bearer ${token}'`],
  ['the header that curl -v prints', (token) => `> Authorization: Bearer ${token}`],
  ['the response of an endpoint', (token) => JSON.stringify({ token_type: 'Bearer', access_token: token }, null, 2)],
  [
    'a response with escapes',
    (token) => JSON.stringify({ scope: 'a/b', access_token: token }).replaceAll('/', '\\/').replace('.', '\\u002e'),
  ],
  ['a response with its headers', (token) => `HTTP/2 200\n\n${JSON.stringify({ access_token: token })}\n`],
  ['that response with the line breaks of a terminal', (token) => wrapped(JSON.stringify({ access_token: token }))],
])('explainToken() finds the token in %s', async (_name, paste) => {
  expect((await explainToken(paste(tokenOf()), offline())).status).toBe(200);
});

test('explainToken() explains the requirements of an application, by the names of options', async () => {
  const claims = { acr: 'low', auth_time: nowSeconds() - 60 };
  const explain = (requirements: Requirements) => explainToken(tokenOf({ claims }), offline(), { requirements });
  expect(await explain({ acr: ['high', 'top'], maxAge: 30 })).toMatchObject({
    status: 401,
    isAccepted: true,
    checks: expect.arrayContaining([
      {
        name: 'step-up',
        has: 'acr low, auth_time 1 minute ago',
        verdict: 'rejected',
        words: 'rejected: acr is high or top, maxAge is 30',
      },
    ]),
  });
  expect((await explain({ acr: 'low', scope: { anyOf: ['a', 'b'] } })).render()).toMatch(
    /step-up .* sufficient\nscope .*rejected: a or b is required, scopeClaim is scope\n403 insufficient_scope: the client must request the scope a or b, /,
  );
});

test('explainToken() calls no function of the application, and renders colours for a terminal on demand', async () => {
  const fail = () => {
    throw new Error('Called');
  };
  const callbacks = { isRevoked: fail, onAccepted: fail, onRefused: fail, onKeySetEvent: fail };
  const options = { ...offline(), ...callbacks, replayStore: { markUsed: fail }, clientCertificate: fail };
  const explanation = await explainToken(tokenOf(), options);
  expect(explanation.render(true)).toContain('\u001b[32mverified\u001b[0m');
  expect(explanation.render()).not.toContain('\u001b');
  expect(await explainToken('x', options)).toMatchObject({ status: 401, isAccepted: false });
});

test('explainToken() rejects an option that is not valid', async () =>
  await expect(explainToken('x', { issuer: 'x', audience: 'y' })).rejects.toThrow(
    /^Cannot create a guard:\n {2}issuer/,
  ));

test('explainToken() explains a token with the options of its own issuer', async () => {
  const { keys, issuer, audience } = offline();
  const own = { issuer, keys, audience: 'own', requiredClaims: { azp: 'a' } };
  const options = { audience, issuer: [own, 'https://other.example.test/'] };
  const explain = async (claims: Readonly<Record<string, string>>) =>
    (await explainToken(tokenOf({ claims }), options)).render();
  expect(await explain({})).toContain('rejected: audience is own\n');
  expect(await explain({ aud: 'own' })).toContain('rejected: requiredClaims is azp=a\n');
  expect(await explain({ aud: 'own', azp: 'a' })).toContain('200: Token is accepted');
});
