import { afterEach, expect, setSystemTime, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, nowSeconds, SIGNING_KID } from '../support/mint.ts';

afterEach(() => void setSystemTime());

test('changes of the wall clock affect the expiry of tokens, but not keys or fetches', async () => {
  const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  const service = await inProcessForm.start({ ISSUER: issuer.url, AUDIENCE });
  await until(async () => (await service.fetch('/readyz')).ok, 'keys are held');
  const startSeconds = nowSeconds();
  const headers = bearer(mintToken(issuer.url, { claims: { exp: startSeconds + 300 } }));
  const days = 86_400;
  for (const [movedSeconds, status] of [
    [0, 200],
    [299, 200],
    [301, 401],
    [-30 * days, 200],
    [30 * days, 401],
    [0, 200],
  ] as const) {
    setSystemTime(new Date((startSeconds + movedSeconds) * 1000));
    const response = await service.fetch('/api/private', { headers });
    expect({ movedSeconds, status: response.status }).toEqual({ movedSeconds, status });
    expect((await service.fetch('/readyz')).status).toBe(200);
  }
  expect(issuer.fetches).toBe(1);
  await service.close();
  await issuer.close();
});
