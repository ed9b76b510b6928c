import { expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../../src/auth/index.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';

const issuer = await createTestIssuer();
const claims = t.Object({ sub: t.String(), seats: t.Numeric() });
const app = new Elysia()
  .use(resourceServer({ ...issuer.options, claims }))
  .get('/', ({ claims }) => `${claims.sub} ${claims.seats + 1} ${claims.iss}`);

test.each([
  ['the claims of the schema, and others', { sub: 'ada', seats: '2', other: [] }, 200, 'ada 3 https://issuer.invalid/'],
  ['a claim of another type', { sub: 'ada', seats: 'many' }, 401, 'invalid_claims'],
  ['a claim too few', { sub: 'ada' }, 401, 'invalid_claims'],
])("resourceServer() with a schema of Elysia's own judges %s", async (_, given, status, body) => {
  const authorization = `Bearer ${await issuer.token(given)}`;
  const response = await app.handle(new Request('http://localhost/', { headers: { authorization } }));
  expect(await response.text()).toContain(body);
  expect(response.status).toBe(status);
});
