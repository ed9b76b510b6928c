import { describe, expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../src/auth/index.ts';
import { createLog } from '../../src/observe/log.ts';
import { createObservation } from '../../src/observe/requests.ts';
import { expectProtected } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { createTestApp } from '../support/test-app.ts';

const issuer = 'https://issuer.example.test/';
const keys = { keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] };
const fail = () => {
  throw new Error('expected');
};
const extension = new Elysia()
  .use(resourceServer({ issuer, audience: AUDIENCE, keys }))
  .all('/plain', () => ({ a: 1 }))
  .all('/scope', () => ({ a: 1 }), { scope: 'a' })
  .all('/scope-function', () => ({ a: 1 }), { scope: () => 'a' })
  .all('/acr', () => ({ a: 1 }), { acr: 'high' })
  .all('/authorize', () => ({ a: 1 }), { authorize: () => false })
  .all('/authorize-fails', () => ({ a: 1 }), { authorize: fail })
  .all('/query', () => ({ a: 1 }), { query: t.Object({ page: t.Number() }) })
  .all('/fails', fail);
const { wrap } = createObservation({
  log: createLog('silent', { isTerminal: false, hasColour: false }),
  counts: undefined,
});
const { app } = createTestApp({ options: { issuer, keys }, extension, observe: wrap, onInternalError() {} });

const token = () => bearer(mintToken(issuer, { claims: { scope: 'b' } }));

describe('every answer of a protected path is complete', () => {
  for (const [path, headers, status, challenge] of [
    ['/plain', token, 200, null],
    ['/plain', () => ({}), 401, /^Bearer$/],
    ['/plain', () => bearer('opaque'), 401, /^Bearer error="invalid_token"/],
    ['/scope', () => ({}), 401, /^Bearer scope="a"$/],
    ['/scope', token, 403, /^Bearer error="insufficient_scope", .*scope="a"$/],
    ['/scope-function', token, 403, /^Bearer error="insufficient_scope", .*scope="a"$/],
    ['/acr', token, 401, /^Bearer error="insufficient_user_authentication", .*acr_values="high"$/],
    ['/authorize', token, 403, null],
    ['/authorize-fails', token, 500, null],
    ['/query', () => ({}), 401, /^Bearer$/],
    ['/query', token, 400, null],
    ['/fails', token, 500, null],
  ] as const)
    for (const method of ['GET', 'HEAD', 'POST'])
      test(`${status} to ${method} ${path}${challenge === null ? '' : ` with ${challenge.source}`}`, async () => {
        const request = new Request(`http://localhost${path}`, {
          method,
          headers: { 'x-request-id': 'given-1', ...headers() },
        });
        const response = await app.fetch(request);
        expect(response.status).toBe(status);
        expectProtected(response);
        expect(response.headers.get('content-type')).toBe('application/json');
        expect(response.headers.get('x-content-type-options')).toBe('nosniff');
        expect(response.headers.get('x-request-id')).toBe('given-1');
        const sent = response.headers.get('www-authenticate');
        if (challenge === null) expect(sent).toBeNull();
        else expect(sent).toMatch(challenge);
        const text = await response.text();
        if (method === 'HEAD') expect(text).toBe('');
        else expect(Object.keys(JSON.parse(text))).toEqual(status === 200 ? ['a'] : ['code', 'description']);
      });
});
