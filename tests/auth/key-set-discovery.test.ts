import { afterEach, describe, expect, test } from 'bun:test';
import { createKeySet, type KeySet, type KeySetEvent } from '../../src/auth/key-set.ts';
import { createKeySetSource } from '../../src/auth/key-set-source.ts';
import { createFrozenClock, type FrozenClock } from '../support/frozen-clock.ts';
import { type Issuer, type IssuerMode, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';

const maxAgeMs = 600_000;
const cooldownMs = 30_000;
const timeoutMs = 5_000;

const OPENID = '/tenant/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server/tenant';
const KEYS = '/tenant/keys';
const USUAL = '/tenant/.well-known/jwks.json';

interface Bench {
  readonly server: Issuer;
  readonly keySet: KeySet;
  readonly clock: FrozenClock;
  readonly events: KeySetEvent[];
  /** Returns the metadata of this issuer, with members laid over. */
  metadata(overrides?: Readonly<Record<string, unknown>>): IssuerMode;
  /** Moves time on, waits for the fetch that this causes, and returns the paths that were requested. */
  advance(ms: number): Promise<readonly string[]>;
}

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thing) => thing.close()));
});

const text = (body: string): IssuerMode => ({ kind: 'answer', text: body });

/** Sets up a key set of the issuer `/tenant`, or `/tenant/`, which knows nothing but its name. */
async function setUp(slash: '' | '/' = '', allowHttp = false): Promise<Bench> {
  const server = await startIssuer([publish(rsaKey('one'), 'one')]);
  const origin = server.url.slice(0, -1);
  const issuer = `${origin}/tenant${slash}`;
  // Only what `documents` has is there.
  server.documents.set(USUAL, { kind: 'answer', status: 404 });
  const clock = createFrozenClock();
  const events: KeySetEvent[] = [];
  const keySet = createKeySet({
    issuer,
    source: createKeySetSource({ issuer, allowHttp, fetch }),
    algorithms: ['RS256'],
    maxAgeMs,
    maxStaleMs: maxAgeMs,
    cooldownMs,
    timeoutMs,
    clock,
    onEvent: (event) => events.push(event),
    random: () => 0,
  });
  open.push(server, { close: () => keySet.stop() });
  return {
    server,
    keySet,
    clock,
    events,
    metadata: (overrides) => text(JSON.stringify({ issuer, jwks_uri: `${origin}${KEYS}`, ...overrides })),
    async advance(ms) {
      const before = server.requests.length;
      clock.advance(ms);
      while (keySet.state().nextAttemptMs === 0) {
        clock.advance(0);
        await Bun.sleep(1);
      }
      return server.requests.slice(before);
    },
  };
}

/** Starts the first fetch and returns the paths that it requested. `stalls` ends one that never would. */
async function start({ server, keySet, clock, advance }: Bench, stalls = false): Promise<readonly string[]> {
  keySet.start();
  if (stalls) {
    while (server.requests.length === 0) await Bun.sleep(1);
    clock.advance(timeoutMs);
  }
  await advance(0);
  return server.requests;
}

interface Place {
  readonly name: string;
  readonly slash?: '/';
  readonly serve: (bench: Bench) => void;
  readonly requests: readonly string[];
}

const serveKeys = ({ server }: Bench, path = KEYS) => server.documents.set(path, { kind: 'keys' });

/** Where the keys of an issuer can be, and what is requested until they are found. */
const places: readonly Place[] = [
  {
    name: 'named by its OpenID metadata',
    serve(bench) {
      bench.server.documents.set(OPENID, bench.metadata());
      serveKeys(bench);
    },
    requests: [OPENID, KEYS],
  },
  {
    name: 'named by its RFC 8414 metadata only',
    serve(bench) {
      bench.server.documents.set(OAUTH, bench.metadata());
      serveKeys(bench);
    },
    requests: [OPENID, OAUTH, KEYS],
  },
  {
    name: 'named by its RFC 8414 metadata, while its OpenID metadata are of another issuer',
    serve(bench) {
      bench.server.documents.set(OPENID, bench.metadata({ issuer: 'https://other.example.test' }));
      bench.server.documents.set(OAUTH, bench.metadata());
      serveKeys(bench);
    },
    requests: [OPENID, OAUTH, KEYS],
  },
  {
    name: 'at the usual place below a slash, with metadata that nobody asks for',
    slash: '/',
    serve(bench) {
      bench.server.documents.set(OPENID, bench.metadata());
      serveKeys(bench, USUAL);
    },
    requests: [USUAL],
  },
  {
    name: 'named by its OpenID metadata, with nothing at the usual place',
    slash: '/',
    serve(bench) {
      bench.server.documents.set(OPENID, bench.metadata());
      serveKeys(bench);
    },
    requests: [USUAL, OPENID, KEYS],
  },
  {
    name: 'at an address with an empty segment and a query',
    serve(bench) {
      const path = '/tenant//keys?version=2';
      bench.server.documents.set(OPENID, bench.metadata({ jwks_uri: new URL(bench.server.url).origin + path }));
      serveKeys(bench, path);
    },
    requests: [OPENID, '/tenant//keys?version=2'],
  },
];

interface Fault {
  readonly name: string;
  readonly mode: IssuerMode | ((bench: Bench) => IssuerMode);
  readonly failure: string;
  /** What is requested before the attempt fails. */
  readonly requests: readonly string[];
  readonly stalls?: true;
}

const both = [OPENID, OAUTH];

/** Every way in which metadata can fail, and what is requested then. */
const faults: readonly Fault[] = [
  { name: 'are absent', mode: { kind: 'answer', status: 404 }, failure: 'status', requests: both },
  { name: 'are a 500', mode: { kind: 'answer', status: 500 }, failure: 'status', requests: both },
  {
    name: 'are those of the issuer with a slash',
    mode: ({ metadata, server }) => metadata({ issuer: `${server.url}tenant/` }),
    failure: 'issuer_mismatch',
    requests: both,
  },
  {
    name: 'name no issuer',
    mode: ({ metadata }) => metadata({ issuer: undefined }),
    failure: 'issuer_mismatch',
    requests: both,
  },
  {
    name: 'name no key set',
    mode: ({ metadata }) => metadata({ jwks_uri: undefined }),
    failure: 'malformed',
    requests: [OPENID],
  },
  {
    name: 'name a key set by plain http beyond loopback',
    mode: ({ metadata }) => metadata({ jwks_uri: 'http://keys.example.test/' }),
    failure: 'insecure_address',
    requests: [OPENID],
  },
  {
    name: 'name a key set by a path',
    mode: ({ metadata }) => metadata({ jwks_uri: KEYS }),
    failure: 'insecure_address',
    requests: [OPENID],
  },
  {
    name: 'name a key set in a file',
    mode: ({ metadata }) => metadata({ jwks_uri: 'file:///etc/passwd' }),
    failure: 'insecure_address',
    requests: [OPENID],
  },
  {
    name: 'redirect',
    mode: { kind: 'answer', status: 302, headers: { location: KEYS } },
    failure: 'redirect',
    requests: both,
  },
  { name: 'hang', mode: { kind: 'hang' }, failure: 'timeout', requests: [OPENID], stalls: true },
  { name: 'drip', mode: { kind: 'drip' }, failure: 'timeout', requests: [OPENID], stalls: true },
  { name: 'are 40 MB', mode: { kind: 'huge' }, failure: 'too_large', requests: both },
  {
    name: 'are compressed',
    mode: { kind: 'answer', headers: { 'content-encoding': 'gzip' }, text: 'x' },
    failure: 'encoded',
    requests: both,
  },
  { name: 'are HTML', mode: text('<!doctype html><title>Sign in</title>'), failure: 'malformed', requests: both },
  { name: 'are null', mode: text('null'), failure: 'malformed', requests: both },
];

describe('createKeySetSource()', () => {
  for (const { name, slash, serve, requests } of places) {
    test(`finds the keys ${name}, and from then on asks for the key set alone`, async () => {
      const bench = await setUp(slash);
      serve(bench);
      expect(await start(bench)).toEqual([...requests]);
      expect(bench.keySet.find('one')).toBeArrayOfSize(1);
      for (let refresh = 0; refresh < 3; refresh += 1) {
        expect(await bench.advance(maxAgeMs)).toEqual(requests.slice(-1));
      }
    });
  }

  for (const { name, mode, failure, requests, stalls } of faults) {
    test(`fails once a cooldown while the metadata ${name}, and recovers`, async () => {
      const bench = await setUp();
      const faulty = typeof mode === 'function' ? mode(bench) : mode;
      for (const path of both) bench.server.documents.set(path, faulty);
      expect(await start(bench, stalls)).toEqual([...requests]);
      expect(bench.events).toMatchObject([{ type: 'failed', failure, failures: 1 }]);

      places[0]?.serve(bench);
      const leftMs = cooldownMs - (stalls ? timeoutMs : 0);
      expect(await bench.advance(leftMs - 1)).toEqual([]);
      expect(await bench.advance(1)).toEqual([OPENID, KEYS]);
      expect(bench.events.at(-1)).toMatchObject({ type: 'fetched', added: ['one'], afterFailures: 1 });
    });
  }

  test('says which issuer the metadata name when it is not the configured one', async () => {
    const bench = await setUp();
    const found = `${bench.server.url}tenant/`;
    bench.server.documents.set(OPENID, bench.metadata({ issuer: found }));
    await start(bench);
    expect(bench.events).toMatchObject([{ issuer: found.slice(0, -1), failure: 'issuer_mismatch', found }]);
  });

  test('takes a key set by plain http in a private network when that is allowed', async () => {
    const bench = await setUp('', true);
    bench.server.documents.set(OPENID, bench.metadata({ jwks_uri: 'http://keys.invalid/' }));
    await start(bench);
    expect(bench.events).toMatchObject([{ type: 'failed', failure: 'network' }]);
  });

  test('does not look for metadata while the usual place fails with anything but a 404', async () => {
    const bench = await setUp('/');
    bench.server.documents.set(USUAL, { kind: 'answer', status: 503 });
    bench.server.documents.set(OPENID, bench.metadata());
    expect(await start(bench)).toEqual([USUAL]);
  });

  test('follows a key set that moved within the attempt that finds it gone', async () => {
    const bench = await setUp();
    places[0]?.serve(bench);
    await start(bench);
    bench.server.documents.delete(KEYS);
    const moved = `${new URL(bench.server.url).origin}/moved`;
    bench.server.documents.set(OPENID, bench.metadata({ jwks_uri: moved }));
    serveKeys(bench, '/moved');
    expect(await bench.advance(maxAgeMs)).toEqual([KEYS, OPENID, '/moved']);
    expect(await bench.advance(maxAgeMs)).toEqual(['/moved']);
    expect(bench.events.at(-1)).toMatchObject({ type: 'fetched', removed: [] });
  });

  test('looks again, a cooldown later, when the key set fails in another way', async () => {
    const bench = await setUp();
    places[0]?.serve(bench);
    await start(bench);
    bench.server.documents.set(KEYS, { kind: 'answer', status: 500 });
    const moved = `${new URL(bench.server.url).origin}/moved`;
    bench.server.documents.set(OPENID, bench.metadata({ jwks_uri: moved }));
    serveKeys(bench, '/moved');
    expect(await bench.advance(maxAgeMs)).toEqual([KEYS]);
    expect(bench.keySet.find('one')).toBeArrayOfSize(1);
    expect(await bench.advance(cooldownMs)).toEqual([OPENID, '/moved']);
  });

  test('finds the keys once the issuer comes up that was down at the start', async () => {
    const bench = await setUp();
    places[0]?.serve(bench);
    await bench.server.goDown();
    expect(await start(bench)).toEqual([]);
    expect(bench.events).toMatchObject([{ type: 'failed', failure: 'network' }]);
    await bench.server.comeBack();
    expect(await bench.advance(cooldownMs)).toEqual([OPENID, KEYS]);
    expect(bench.keySet.find('one')).toBeArrayOfSize(1);
  });

  test('keeps the keys while the issuer is down later, and looks for them again afterwards', async () => {
    const bench = await setUp();
    places[0]?.serve(bench);
    await start(bench);
    await bench.server.goDown();
    await bench.advance(maxAgeMs);
    expect(bench.keySet.find('one')).toBeArrayOfSize(1);
    expect(bench.events.at(-1)).toMatchObject({ type: 'failed', failure: 'network' });
    await bench.server.comeBack();
    expect(await bench.advance(cooldownMs)).toEqual([OPENID, KEYS]);
  });
});
