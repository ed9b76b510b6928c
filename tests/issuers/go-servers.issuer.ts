import { describe, expect, test } from 'bun:test';
import { createGuard, type GuardOptions, optionsFromEnvironment } from 'protected-api';
import { explainToken } from 'protected-api/explain';
import { site } from '../../docs/.vitepress/pages.ts';
import { issuers, pageOf } from '../../scripts/issuer-pages.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { discover, forApplication } from './client.ts';
import { act } from './servers/act.ts';
import { dex } from './servers/dex.ts';
import { type RealServer, secretOf } from './servers/real-server.ts';
import { spire } from './servers/spire.ts';
import { type Started, startServer } from './servers/start.ts';
import { vault } from './servers/vault.ts';

/* What only these servers do, and what their users have reported. */

const isBrief = process.env.CI === 'true' && !isNight;

/** Describes a server that runs, if the machine can run it. */
function describeServer(server: RealServer, tests: (started: () => Started) => void) {
  const missing = server.needs.filter((program) => !Bun.which(program));
  // The other file says which servers are left out.
  if (isBrief || missing.length > 0) return;
  describe(server.name, () => {
    const started = startedFor(
      () => startServer(server),
      ({ close }) => close(),
    );
    test('one of its tokens leads to its page, and to settings that accept it', async () => {
      const { suggestion } = await explainToken(await server.application(started()), {}, { words: 'settings' });
      expect(suggestion?.page).toBe(site + pageOf(server.page ?? ''));
      const suggested = optionsFromEnvironment({ ...suggestion?.settings });
      expect((await explainToken(await server.application(started()), suggested)).status).toBe(200);
    });
    tests(started);
  });
}

/** Returns a guard with the settings of the page that decides about tokens. */
function guardFor(server: RealServer, { issuer: ISSUER }: Started, more: Partial<GuardOptions> = {}) {
  const page = issuers.find(({ slug }) => slug === server.page)?.settings;
  let reason: string | undefined;
  const guard = createGuard({
    ...optionsFromEnvironment({ ...page, ...server.settings, ISSUER }),
    ...more,
    onRejected: (_, why) => {
      reason = why;
    },
  });
  return async (token: string) => {
    const result = await guard.check(new Request('https://api.example.com/', { headers: bearer(token) }));
    return result instanceof Response ? reason : 'accepted';
  };
}

describeServer(dex, (started) => {
  test('gives a client that the API does not list no token for it', async () => {
    const visitor = await discover(started().issuer, secretOf('visitor'));
    const request = forApplication(visitor, { scope: 'groups audience:server:client_id:my-api' });
    expect(await request.catch(({ error }) => error)).toBe('invalid_scope');
  });

  test('without its data, signs with a new key, which is accepted at once', async () => {
    const decide = guardFor(dex, started());
    const before = await dex.application(started());
    expect(await decide(before)).toBe('accepted');
    await act(started(), 'forget');
    expect(await decide(await dex.application(started()))).toBe('accepted');
    expect(await decide(before)).toBe('key_unknown');
  });
});

describeServer(vault, (started) => {
  test('publishes the previous key and the next one', async () => {
    let fetches = 0;
    const decide = guardFor(vault, started(), {
      fetch(address, init) {
        fetches += 1;
        return fetch(address, init);
      },
    });
    const before = await vault.application(started());
    expect(await decide(before)).toBe('accepted');
    const fetched = fetches;
    await act(started(), 'rotate', { verification_ttl: '7200' });
    const after = await vault.application(started());
    expect([await decide(after), fetches]).toEqual(['accepted', fetched]);
    expect(await guardFor(vault, started())(before)).toBe('accepted');
  });

  test('publishes no keys while it is sealed', async () => {
    const decide = guardFor(vault, started());
    const token = await vault.application(started());
    expect(await decide(token)).toBe('accepted');
    await act(started(), 'seal');
    expect([await decide(token), await guardFor(vault, started())(token)]).toEqual(['accepted', 'keys_unavailable']);
    await act(started(), 'unseal');
    expect(await guardFor(vault, started())(token)).toBe('accepted');
  });
});

describeServer(spire, (started) => {
  test('its bundle is no key set, because its keys are for JWT-SVIDs', async () => {
    const bundle = await act<object>(started(), 'bundle');
    const endpoint = serve(() => Response.json(bundle));
    const token = await spire.application(started());
    const jwks = { jwksUri: endpoint.url.href, jwksAllowHttp: true };
    expect(await guardFor(spire, started(), jwks)(token)).toBe('keys_unavailable');
    await endpoint.stop(true);
  });

  test('its provider has no keys if it starts without the server', async () => {
    const decide = guardFor(spire, started());
    const token = await spire.application(started());
    expect(await decide(token)).toBe('accepted');
    await act(started(), 'loseServer');
    expect([await decide(token), await guardFor(spire, started())(token)]).toEqual(['accepted', 'keys_unavailable']);
  });
});
