import { afterEach, expect, spyOn, test } from 'bun:test';
import { createIssuerKeys } from '../../../src/auth/keys/issuer-keys.ts';
import { checkOptions, type GuardOptions } from '../../../src/auth/options.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';

const issuer = 'https://issuer.example.test/';
const warn = spyOn(console, 'warn').mockImplementation(() => {});
afterEach(() => {
  warn.mockClear();
});

/** Lets so many fetches fail, one after another. */
async function failToFetch(times: number, options: Partial<GuardOptions> = {}): Promise<void> {
  const clock = createFrozenClock();
  const fetch = () => Promise.reject(Object.assign(new TypeError('unreachable'), { code: 'ECONNREFUSED' }));
  const keySet = createIssuerKeys(checkOptions({ issuer, audience: 'api', fetch, ...options }), { clock }).get(issuer);
  for (let attempt = 0; attempt < times; attempt += 1) {
    await keySet?.find('any');
    clock.pause(60_000);
  }
}

test('an outage is a warning on the console, once, with the address and the cause', async () => {
  await failToFetch(3);
  expect(warn.mock.calls).toEqual([
    [`Cannot fetch the keys of ${issuer} from ${issuer}.well-known/jwks.json: network, ECONNREFUSED`],
  ]);
});

test('an outage is an event and no warning where the application listens', async () => {
  const failures: unknown[] = [];
  await failToFetch(2, { onKeySetEvent: (event) => failures.push(event.type) });
  expect(failures).toEqual(['failed', 'failed']);
  expect(warn).not.toHaveBeenCalled();
});
