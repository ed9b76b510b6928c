import { afterEach, expect, spyOn, test } from 'bun:test';
import { checkOptions, type GuardOptions } from '../../../src/auth/check-options.ts';
import { createGuard } from '../../../src/auth/guard.ts';
import { createIssuerKeys } from '../../../src/auth/keys/issuer-keys.ts';
import { Refusal } from '../../../src/auth/refusals.ts';
import { optionsByIssuer } from '../../../src/auth/token/issuer-rules.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, bearer, mintToken, signingKeys } from '../../support/mint.ts';

const issuer = 'https://issuer.example.test/';
const other = 'https://other.example.test/';
const warn = spyOn(console, 'warn').mockImplementation(() => {});
afterEach(() => void warn.mockClear());

function setUp(onKeySetEvent?: GuardOptions['onKeySetEvent']) {
  const clock = createFrozenClock();
  const fetches: string[] = [];
  const fetch = async (url: string) => {
    fetches.push(url);
    if (url.startsWith(other)) return Response.json({ keys: [publish(rsaKey('one'), 'one')] });
    throw Object.assign(new TypeError('unreachable'), { code: 'ECONNREFUSED' });
  };
  const options = checkOptions({ issuer: [issuer, other], audience: 'api', fetch, onKeySetEvent });
  const { byIssuer } = createIssuerKeys(optionsByIssuer(options), { clock });
  return { fetches, find: (of: string, kid: string) => byIssuer.get(of)?.find(kid), pause: () => clock.pause(60_000) };
}

test('an outage causes one warning on the console, with the URL and the cause', async () => {
  const { find, pause } = setUp();
  for (const _ of [1, 2, 3]) {
    await find(issuer, 'any');
    pause();
  }
  const address = `${issuer}.well-known/jwks.json`;
  expect(warn.mock.calls).toEqual([[`Cannot fetch the keys of ${issuer} from ${address}: network, ECONNREFUSED`]]);
});

test('an outage is an event, and not a warning, if the application has a listener', async () => {
  const failures: unknown[] = [];
  await setUp(({ type }) => failures.push(type)).find(issuer, 'any');
  expect(failures).toEqual(['failed']);
  expect(warn).not.toHaveBeenCalled();
});

test('an outage of one issuer and a flood of its unknown key IDs do not affect another', async () => {
  const { find, fetches } = setUp();
  for (let kid = 0; kid < 100; kid += 1) expect(await find(issuer, String(kid))).toBeInstanceOf(Refusal);
  expect(fetches).toBeArrayOfSize(1);
  expect(await find(other, 'one')).toBeArrayOfSize(1);
  expect(fetches).toBeArrayOfSize(2);
});

test('guard.reload() stops trusting a key that has left the set, within the cooldown, and resolves to the state', async () => {
  let published = signingKeys();
  const guard = createGuard({ issuer, audience: AUDIENCE, fetch: async () => Response.json({ keys: published }) });
  const headers = bearer(mintToken(issuer));
  const check = () => guard.check(new Request('http://localhost/', { headers }));
  expect(await check()).toMatchObject({ claims: { iss: issuer } });
  published = [];
  expect(await guard.reload()).toMatchObject({ issuers: [{ keys: 1, lastFailure: { failure: 'malformed' } }] });
  expect(await check()).toMatchObject({ claims: { iss: issuer } });
  published = [publish(rsaKey('new'), 'new')];
  expect(await guard.reload()).toMatchObject({ issuers: [{ keys: 1, ageMs: expect.any(Number) }] });
  expect(guard.state().issuers[0]?.lastFailure).toBeUndefined();
  expect(await check()).toMatchObject({ status: 401 });
});
