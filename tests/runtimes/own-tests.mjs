// The tests of somebody else's application, as README.md shows them, without Elysia.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGuard } from 'protected-api';
import { createDevelopmentIssuer, createTestIssuer } from 'protected-api/testing';

const publicUrl = 'https://api.example.test';
const reports = `${publicUrl}/messages`;
const scope = 'read:messages';

async function send({ check }, authorization, headers = {}) {
  const result = await check(new Request(reports, { headers: { authorization, ...headers } }), { scope });
  return result instanceof Response ? result.status : result.claims.sub;
}

test('tokens and proofs of the test issuer are checked as real ones', async () => {
  const issuer = await createTestIssuer();
  for (const [outcome, ...token] of [
    ['ada', { sub: 'ada', scope }],
    [403, { sub: 'ada' }],
    [401, { scope }, { expired: true }],
    [401, { scope }, { forged: true }],
  ])
    assert.equal(await send(createGuard(issuer.options), `Bearer ${await issuer.token(...token)}`), outcome);

  const strict = createGuard({ ...issuer.options, dpop: 'required', publicUrl });
  const token = await issuer.token({ sub: 'ada', scope }, { boundTo: 'dpop' });
  const dpop = await issuer.proof(new Request(reports), token);
  assert.equal(await send(strict, `DPoP ${token}`, { dpop }), 'ada');
  assert.equal(await send(strict, `DPoP ${token}`, { dpop }), 401);
});

test('the development issuer grants what a client is listed with', async () => {
  const clients = [{ id: 'reader', scope }, { id: 'visitor' }];
  const issuer = createDevelopmentIssuer({ issuer: 'http://localhost:3011/', audience: publicUrl, clients });
  for (const { id, secret } of issuer.clients) {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
    const response = await issuer.fetch(new Request('http://localhost:3011/oauth/token', { method: 'POST', body }));
    const authorization = `Bearer ${(await response.json()).access_token}`;
    assert.equal(await send(createGuard(issuer.options), authorization), id === 'reader' ? 'reader' : 403);
  }
});
