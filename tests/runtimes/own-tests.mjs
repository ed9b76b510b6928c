// The tests of an application of somebody else, as README.md shows them, for the test runner of each runtime.
import assert from 'node:assert/strict';
import { createGuard } from 'protected-api/guard';
import { createDevelopmentIssuer, createTestIssuer } from 'protected-api/testing';

const publicUrl = 'https://api.example.test';

async function send({ check }, authorization, headers = {}, scope = 'read:reports') {
  const result = await check(new Request(`${publicUrl}/reports`, { headers: { authorization, ...headers } }), {
    scope,
  });
  return result instanceof Response ? result.status : result.claims.sub;
}

export const cases = {
  async 'a token of the test issuer is judged as a real one'() {
    const issuer = await createTestIssuer();
    const guard = createGuard(issuer.options);
    const bearer = async (...token) => `Bearer ${await issuer.token(...token)}`;
    assert.equal(await send(guard, await bearer({ sub: 'ada', scope: 'read:reports' })), 'ada');
    assert.equal(await send(guard, await bearer({ sub: 'ada' })), 403);
    assert.equal(await send(guard, await bearer({ scope: 'read:reports' }, { expired: true })), 401);
    assert.equal(await send(guard, await bearer({ scope: 'read:reports' }, { forged: true })), 401);
  },

  async 'a proof of the test issuer is good once'() {
    const issuer = await createTestIssuer();
    const guard = createGuard({ ...issuer.options, dpop: 'required', publicUrl });
    const token = await issuer.token({ sub: 'ada', scope: 'read:reports' }, { boundTo: 'dpop' });
    const dpop = await issuer.proof(new Request(`${publicUrl}/reports`), token);
    assert.equal(await send(guard, `DPoP ${token}`, { dpop }), 'ada');
    assert.equal(await send(guard, `DPoP ${token}`, { dpop }), 401);
    assert.equal(await send(guard, `Bearer ${token}`), 401);
  },

  async 'the development issuer grants what a client is listed with'() {
    const clients = [{ id: 'reader', scope: 'read:reports' }, { id: 'visitor' }];
    const issuer = createDevelopmentIssuer({ issuer: 'http://localhost:3011/', audience: publicUrl, clients });
    const guard = createGuard(issuer.options);
    const statuses = [];
    for (const { id, secret } of issuer.clients) {
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
      const response = await issuer.fetch(new Request('http://localhost:3011/oauth/token', { method: 'POST', body }));
      statuses.push(await send(guard, `Bearer ${(await response.json()).access_token}`));
    }
    assert.deepEqual(statuses, ['reader', 403]);
    assert.throws(() =>
      createDevelopmentIssuer({ issuer: 'https://tenant.example.test/', audience: publicUrl, clients }),
    );
  },
};
