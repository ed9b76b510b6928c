import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { serve } from '../support/fixture.ts';
import { installedPackage } from '../support/installed-package.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, bearer, mintToken, SIGNING_KID, signingKeys } from '../support/mint.ts';
import { workerForm } from '../support/worker.ts';

const folder = installedPackage('', 'runtimes', ['worker.mjs']);

/** On Cloudflare Workers, a fetch ends with the request that started it: most background refreshes never end. */
describe.each([
  // Without a stale time, keys must outlive a fetch on a busy machine.
  [3, 0, false],
  [1, 60, false],
  [1, 60, true],
])(
  'a Worker with keys of %d seconds, trusted for %d more, and an issuer that takes 0.7 seconds (looked up: %p)',
  (maxAge, stale, isLookedUp) => {
    test.concurrent('accepts each of 20 requests within the default time limit of a fetch, four of them by a new key', async () => {
      const keys = signingKeys();
      await using issuer = serve(async () => {
        await Bun.sleep(700);
        return Response.json({ keys });
      });
      const times = { jwksMaxAgeSeconds: maxAge, jwksCooldownSeconds: 1, jwksTimeoutSeconds: 60 };
      const options = { ...times, jwksMaxStaleSeconds: stale, isLookedUp };
      const settings = { ISSUER: issuer.url.href, AUDIENCE, OPTIONS: JSON.stringify(options) };
      const worker = await workerForm(() => join(folder(), 'worker.mjs')).start(settings);
      /**
       * More fetches than the limit of 5 seconds has time for, each with a response of the Worker: a slow machine has
       * longer.
       */
      const limit = async () => {
        for (let ms = 0; ms <= 5000; ms += 700) await Promise.all([fetch(issuer.url), worker.fetch('/livez')]);
        return 'too late';
      };
      const ask = (kid = SIGNING_KID) => {
        const token = mintToken(issuer.url.href, { header: { kid }, key: rsaKey(kid) });
        const response = worker.fetch('/api/private', { headers: bearer(token) });
        return Promise.race([response.then(({ status }) => status), limit()]);
      };
      const statuses = await Promise.all(Array.from({ length: 4 }, () => ask()));
      keys.push(publish(rsaKey('new'), 'new'));
      for (const kid of [...Array(12).fill(SIGNING_KID), ...Array(4).fill('new')]) {
        // Longer than a request, and shorter than a fetch.
        await Bun.sleep(200);
        statuses.push(await ask(kid));
      }
      await worker.close();
      expect([statuses, worker.output()]).toEqual([Array(20).fill(200), `${worker.origin}\n`]);
    });
  },
);

type Mode = 'slow' | 'hanging' | 'down';

/** Returns the statuses of a token whose key was withdrawn, when the keys are older than their maximum age. */
async function statusesOfWithdrawn(mode: Mode, outlives: boolean, turns: number) {
  let respond = async (): Promise<Response> => Response.json({ keys: signingKeys() });
  await using issuer = serve(() => respond());
  const options = {
    jwksMaxAgeSeconds: 1,
    jwksCooldownSeconds: 1,
    // Three times what the issuer takes, for a busy machine.
    jwksTimeoutSeconds: 2,
    jwksMaxStaleSeconds: 86_400,
    outlives,
  };
  const settings = { ISSUER: issuer.url.href, AUDIENCE, OPTIONS: JSON.stringify(options) };
  const worker = await workerForm(() => join(folder(), 'worker.mjs')).start(settings);
  const headers = bearer(mintToken(issuer.url.href));
  const ask = async () => (await worker.fetch('/api/private', { headers })).status;
  const before = await ask();
  const withdrawn = { keys: [publish(rsaKey('new'), 'new')] };
  respond = {
    slow: async () => {
      await Bun.sleep(700);
      return Response.json(withdrawn);
    },
    hanging: () => new Promise<Response>(() => {}),
    down: async () => new Response(null, { status: 500 }),
  }[mode];
  const statuses = [before];
  for (let turn = 0; turn < turns; turn += 1) {
    // Past the maximum age, and past the time limit of a fetch.
    await Bun.sleep(2100);
    statuses.push(await ask());
  }
  await worker.close();
  return statuses;
}

describe.each([
  ['with waitUntil', true],
  ['without waitUntil', false],
])('a Worker %s whose keys were withdrawn a second ago', (_, outlives) => {
  test.concurrent('rejects their token from the second request on, although the issuer takes 0.7 seconds', async () => {
    const [before, , ...later] = await statusesOfWithdrawn('slow', outlives, 4);
    expect([before, ...later]).toEqual([200, 401, 401, 401]);
  });

  test.concurrent.each<[mode: Mode]>([['hanging'], ['down']])(
    'goes on with the keys that it holds while the issuer is %s',
    async (mode) => expect(new Set(await statusesOfWithdrawn(mode, outlives, 4))).toEqual(new Set([200])),
  );
});
