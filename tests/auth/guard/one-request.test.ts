import { describe, expect, test } from 'bun:test';
import { createGuardCore } from '../../../src/auth/guard/core.ts';
import { guardOf } from '../../../src/auth/guard/guard.ts';
import { createGuard, type GuardOptions } from '../../../src/auth/index.ts';
import { createMemoryReplayStore } from '../../../src/auth/proof/replay-store.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer, signingKeys } from '../../support/mint.ts';
import { bound as boundToKey, makeProof } from '../../support/proof.ts';

const publicUrl = 'https://api.example.test';
const url = `${publicUrl}/messages`;
const exp = 2_000_000_000;
const valid = () => bearer(tokenOf({ claims: { exp: exp + 1 } })).authorization;
const requestWith = (authorization: string) => new Request(url, { headers: { authorization } });
const bound = tokenOf({ claims: { cnf: boundToKey, exp: exp + 1 } });
const proof = () => makeProof({ url, token: bound, nowSeconds: exp });

const published = () => Response.json({ keys: signingKeys() });
/** Returns a function that fails when it is called for the first time. */
function failsOnce<Result>(succeed: () => Result): () => Promise<Result> {
  let calls = 0;
  return async () => (++calls === 1 ? Promise.reject(new Error('down')) : succeed());
}

function setUp(options: Partial<GuardOptions> = {}) {
  const world = { now: exp * 1000, clock: 0, accepted: [] as unknown[], rejected: [] as string[] };
  const core = createGuardCore(
    {
      ...offline(),
      onAccepted: (_, { sub }) => void world.accepted.push(sub),
      onRejected: (_, reason) => void world.rejected.push(reason),
      ...options,
    },
    { now: () => world.now, clock: { now: () => world.clock, setBacks: 0, schedule: () => () => {} } },
  );
  const { check, state } = guardOf(core);
  const statusOf = async (request: Parameters<typeof check>[0], requirements = {}) => {
    const result = await check(request, requirements);
    return result instanceof Response ? result.status : String(result.claims.sub);
  };
  return { world, check, statusOf, state };
}

describe('several checks of one request object', () => {
  for (const tokenCacheSize of [0, 10])
    test(`share the verification of its token with a cache of ${tokenCacheSize}, even in parallel; requirements are checked each time`, async () => {
      let runs = 0;
      const validate = () => ({ value: { run: ++runs } });
      const claims = { '~standard': { version: 1, vendor: 'test', validate } } as const;
      const { world, check, statusOf, state } = setUp({ tokenCacheSize, claims });
      const request = requestWith(valid());
      const statuses = await Promise.all([statusOf(request), statusOf(request, { scope: 'other' }), statusOf(request)]);
      expect(statuses).toEqual(['client-1', 403, 'client-1']);
      expect(await statusOf(request, { scope: 'other' })).toBe(403);
      expect(await check(request)).toMatchObject({ claims: { run: 1 } });
      expect(state().cacheHits).toBe(0);
      expect([world.accepted, world.rejected]).toEqual([['client-1'], Array(2).fill('scope_insufficient')]);
    });

  test('decide by the current state: the time, the revocation, and the outage of the issuer', async () => {
    let isDown = true;
    let isRevoked = false;
    const fetch = async () => (isDown ? new Response('', { status: 500 }) : Response.json({ keys: signingKeys() }));
    const { world, statusOf } = setUp({ keys: undefined, fetch, isRevoked: () => isRevoked, onKeySetEvent() {} });
    const request = requestWith(valid());
    expect(await statusOf(request)).toBe(503);
    isDown = false;
    world.clock = 60_000;
    expect(await statusOf(request)).toBe('client-1');
    isRevoked = true;
    expect(await statusOf(request)).toBe(401);
    isRevoked = false;
    expect(await statusOf(request)).toBe('client-1');
    world.now += 1000;
    expect(await statusOf(request)).toBe(401);
    expect(world.rejected).toEqual(['keys_unavailable', 'token_revoked', 'token_expired']);
    expect(world.accepted).toEqual(['client-1']);
  });

  test('may be made by onAccepted, which is called once, and again if it failed', async () => {
    let calls = 0;
    const guard = createGuard({
      ...offline(),
      async onAccepted(request) {
        calls += 1;
        await guard.check(request);
      },
    });
    const request = requestWith(valid());
    await Promise.all([guard.check(request), guard.check(request)]);
    expect(calls).toBe(1);
    const failing = createGuard({
      ...offline(),
      onAccepted: () => {
        if (++calls < 3) throw new Error('down');
      },
    });
    await failing.check(request).catch(() => {});
    await failing.check(request);
    expect(calls).toBe(3);
  });

  test('belong to other requests if method, URL or credentials differ', async () => {
    const { world, statusOf } = setUp();
    const headers = new Headers({ authorization: valid() });
    const template = { method: 'GET', url, headers };
    const changes: readonly (readonly [change: () => unknown, want: unknown, accepted: number])[] = [
      [() => {}, 'client-1', 1],
      [() => {}, 'client-1', 1],
      [() => (template.method = 'POST'), 'client-1', 2],
      [() => (template.url += '?page=2'), 'client-1', 3],
      [() => headers.set('authorization', `Bearer ${tokenOf({ claims: { sub: 'b', exp: exp + 1 } })}`), 'b', 4],
      [() => headers.set('authorization', 'Bearer x'), 401, 4],
      [() => headers.delete('authorization'), 401, 4],
    ];
    for (const [change, want, accepted] of changes) {
      change();
      expect(await statusOf(template)).toBe(want as never);
      expect(world.accepted).toHaveLength(accepted);
    }
  });

  test('share nothing if the object changes while a check waits', async () => {
    const { statusOf } = setUp({ tokenCacheSize: 0, dpop: 'on', publicUrl });
    const request = new Request(url, { headers: { authorization: `DPoP ${bound}`, dpop: proof() } });
    const first = statusOf(request);
    request.headers.set('dpop', proof());
    const second = statusOf(request);
    request.headers.set('authorization', 'Bearer x');
    expect(await Promise.all([first, second, statusOf(request)])).toEqual(['client-1', 'client-1', 401]);
  });

  test('share one use of a proof in each store, even with checks of another guard, and after the proof has expired', async () => {
    const options = { dpop: 'on', publicUrl } as const;
    const replayStore = createMemoryReplayStore({ now: () => exp * 1000 });
    const [one, other, apart] = [setUp(options), setUp(options), setUp({ ...options, replayStore })];
    const headers = { authorization: `DPoP ${bound}`, dpop: proof() };
    const request = new Request(url, { headers });
    expect(await Promise.all([one, other, one, apart].map(({ statusOf }) => statusOf(request)))).not.toContain(401);
    for (const { statusOf } of [apart, other]) expect(await statusOf(new Request(url, { headers }))).toBe(401);
    one.world.now -= 61_000;
    expect(await one.statusOf(request)).toBe('client-1');
    expect([one.world.rejected, other.world.rejected]).toEqual([[], ['proof_replayed']]);
    expect(one.world.accepted).toHaveLength(1);
    one.world.now = exp * 1000;
    for (const [dpop, want] of Object.entries({ [proof()]: 'client-1', [headers.dpop]: 401, x: 401 })) {
      request.headers.set('dpop', dpop);
      expect(await one.statusOf(request)).toBe(want);
      expect(one.world.accepted).toHaveLength(2);
    }
  });

  // axios-retry, got, ky and undici repeat a request as it was after `Retry-After`.
  test.each<[string, () => Partial<GuardOptions>]>([
    ['isRevoked fails', () => ({ isRevoked: failsOnce(() => false) })],
    ['the keys cannot be fetched', () => ({ keys: undefined, onKeySetEvent() {}, fetch: failsOnce(published) })],
  ])(
    'a request that is repeated with its proof after a 503, because %s, is accepted, and then no more',
    async (_, fail) => {
      const { world, statusOf } = setUp({ dpop: 'on', publicUrl, replayStore: createMemoryReplayStore(), ...fail() });
      const headers = { authorization: `DPoP ${bound}`, dpop: proof() };
      const statuses: unknown[] = [];
      for (world.clock of [0, 60_000, 120_000]) statuses.push(await statusOf(new Request(url, { headers })));
      expect(statuses).toEqual([503, 'client-1', 401]);
    },
  );

  test('are rejected if the token expires while the replay store takes its time', async () => {
    const replayStore = {
      async markUsed() {
        given.world.now += 1000;
        return true;
      },
    };
    const given = setUp({ dpop: 'on', publicUrl, replayStore });
    const request = new Request(url, { headers: { authorization: `DPoP ${bound}`, dpop: proof() } });
    expect(await given.statusOf(request)).toBe(401);
    expect(given.world.rejected).toEqual(['token_expired']);
  });

  test('do not remember an outage of the replay store, or an exception of the clock', async () => {
    let calls = 0;
    const replayStore = { markUsed: () => (++calls > 1 ? calls === 2 : Promise.reject(new Error('down'))) };
    const { world, statusOf } = setUp({ dpop: 'on', publicUrl, replayStore });
    const request = new Request(url, { headers: { authorization: `DPoP ${bound}`, dpop: proof() } });
    Object.defineProperty(world, 'now', { get: () => JSON.parse('broken'), configurable: true });
    await expect(statusOf(request)).rejects.toThrow(SyntaxError);
    Object.defineProperty(world, 'now', { value: exp * 1000 });
    for (const want of [503, 'client-1', 'client-1']) expect(await statusOf(request)).toBe(want);
  });

  test('fail each time if onAccepted throws', async () => {
    const onAccepted = () => {
      throw new Error('no audit');
    };
    const { check } = setUp({ onAccepted });
    const request = requestWith(valid());
    for (let times = 0; times < 2; times++) await expect(check(request)).rejects.toThrow('no audit');
  });
});

describe('createGuard().check() takes', () => {
  const { check } = createGuard(offline());
  const { get } = new Headers();
  for (const [name, request] of [
    ['undefined', undefined],
    ['null', null],
    ['text', url],
    ['no headers', { method: 'GET', url }],
    ['a request of Node.js', { method: 'GET', url: '/messages', headers: {}, rawHeaders: [] }],
    ['no URL', { method: 'GET', headers: { get } }],
    ['no method', { url, headers: { get } }],
  ] as const)
    test(`no ${name} for a request, and says so in a rejection that is handled`, async () => {
      const checked = check(request as unknown as Request);
      await expect(checked).rejects.toThrow(/^Cannot check a request: .* use protected-api\/node$/);
    });

  class WithScope {
    get scope() {
      return 'other';
    }
  }
  for (const [name, requirements, status] of [
    ['an inherited getter scope', new WithScope(), 403],
    ['an inherited acr', Object.create({ acr: 'high' }), 401],
  ] as const)
    test(`requirements with ${name}`, async () =>
      expect(await check(requestWith(`Bearer ${tokenOf()}`), requirements)).toMatchObject({ status }));
});

test('a token is accepted by keys that are older than their maximum age when they arrive', async () => {
  const times = { jwksMaxAgeSeconds: 1, jwksMaxStaleSeconds: 0, jwksCooldownSeconds: 1 };
  const slow = async () => {
    world.clock += 1500;
    return published();
  };
  const { world, statusOf } = setUp({ ...times, keys: undefined, fetch: slow });
  for (let turn = 0; turn < 3; turn += 1) {
    world.clock += 1500;
    expect(await statusOf(requestWith(valid()))).toBe('client-1');
  }
});
