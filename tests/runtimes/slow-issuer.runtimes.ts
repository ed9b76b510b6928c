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
  [0, false],
  [60, false],
  [60, true],
])(
  'a Worker with keys of one second, trusted for %d more, and an issuer that takes 0.7 seconds (looked up: %p)',
  (stale, isLookedUp) => {
    test.concurrent('accepts each of 20 requests within the default time limit of a fetch, four of them by a new key', async () => {
      const keys = signingKeys();
      await using issuer = serve(async () => {
        await Bun.sleep(700);
        return Response.json({ keys });
      });
      const times = { jwksMaxAgeSeconds: 1, jwksCooldownSeconds: 1, jwksTimeoutSeconds: 60 };
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
