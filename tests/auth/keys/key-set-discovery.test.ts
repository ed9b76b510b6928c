import { afterEach, describe, expect, test } from 'bun:test';
import type { FetchError } from '../../../src/auth/keys/fetch-json.ts';
import { createKeySet, type KeySet, type KeySetEvent } from '../../../src/auth/keys/key-set.ts';
import { createKeySetSource } from '../../../src/auth/keys/key-set-source.ts';
import { createFrozenClock, type FrozenClock } from '../../support/frozen-clock.ts';
import { type Issuer, type IssuerMode, startIssuer } from '../../support/issuer.ts';
import { publish, rsaKey } from '../../support/keys.ts';

const maxAgeMs = 600_000;
const cooldownMs = 30_000;
const timeoutMs = 5_000;

const OPENID = '/tenant/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server/tenant';
const KEYS = '/tenant/keys';
const USUAL = '/tenant/.well-known/jwks.json';

interface Fixture {
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

/** Sets up a key set that is configured with the issuer `/tenant` or `/tenant/` only. */
async function setUp(slash: '' | '/' = '', allowHttp = false): Promise<Fixture> {
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
async function start({ server, keySet, clock, advance }: Fixture, stalls = false): Promise<readonly string[]> {
  keySet.start();
  if (stalls) {
    while (server.requests.length === 0) await Bun.sleep(1);
    clock.advance(timeoutMs);
  }
  await advance(0);
  return server.requests;
}

type Serve = (fixture: Fixture) => void;
const serve =
  (documents: (fixture: Fixture) => Readonly<Record<string, IssuerMode>>, keys = KEYS): Serve =>
  (fixture) => {
    for (const [path, mode] of Object.entries(documents(fixture))) fixture.server.documents.set(path, mode);
    fixture.server.documents.set(keys, { kind: 'keys' });
  };
const serveUsually = serve(({ metadata }) => ({ [OPENID]: metadata() }));
const other = { issuer: 'https://other.example.test' };
const VERSIONED = '/tenant//keys?version=2';

/** Where the keys of an issuer can be, and what is requested until they are found. */
const places: readonly (readonly [name: string, slash: '' | '/', serve: Serve, requests: readonly string[]])[] = [
  ['named by its OpenID metadata', '', serveUsually, [OPENID, KEYS]],
  ['named by its RFC 8414 metadata', '', serve(({ metadata }) => ({ [OAUTH]: metadata() })), [OPENID, OAUTH, KEYS]],
  [
    'named by its RFC 8414 metadata, while its OpenID metadata are of another issuer',
    '',
    serve(({ metadata }) => ({ [OPENID]: metadata(other), [OAUTH]: metadata() })),
    [OPENID, OAUTH, KEYS],
  ],
  ['at the usual place, with metadata', '/', serve(({ metadata }) => ({ [OPENID]: metadata() }), USUAL), [USUAL]],
  ['named by its OpenID metadata, with nothing at the usual place', '/', serveUsually, [USUAL, OPENID, KEYS]],
  [
    'at an address with an empty segment and a query',
    '',
    serve(
      ({ metadata, server }) => ({ [OPENID]: metadata({ jwks_uri: server.url.slice(0, -1) + VERSIONED }) }),
      VERSIONED,
    ),
    [OPENID, VERSIONED],
  ],
];

const answer = (status: number, headers = {}): IssuerMode => ({ kind: 'answer', status, headers, text: 'x' });
const both = [OPENID, OAUTH];
type Metadata = Readonly<Record<string, unknown>>;

/** Every way in which metadata can fail: what is served, and what is requested before the attempt fails. */
const faults: readonly (readonly [failure: string, mode: IssuerMode | Metadata, requests: readonly string[]])[] = [
  ['status', answer(404), both],
  ['status', answer(500), both],
  ['issuer_mismatch', other, both],
  ['issuer_mismatch', { issuer: undefined }, both],
  ['malformed', { jwks_uri: undefined }, [OPENID]],
  ...['http://keys.example.test/', KEYS, 'file:///etc/passwd'].map(
    (jwks_uri) => ['insecure_address', { jwks_uri }, [OPENID]] as const,
  ),
  ['redirect', answer(302, { location: KEYS }), both],
  ['timeout', { kind: 'hang' }, [OPENID]],
  ['timeout', { kind: 'drip' }, [OPENID]],
  ['too_large', { kind: 'huge' }, both],
  ['encoded', answer(200, { 'content-encoding': 'gzip' }), both],
  ...['<!doctype html><title>Sign in</title>', 'null', '[]'].map((body) => ['malformed', text(body), both] as const),
];

describe('createKeySetSource()', () => {
  for (const [name, slash, serveKeys, requests] of places) {
    test(`finds the keys ${name}, and then requests only the key set`, async () => {
      const fixture = await setUp(slash);
      serveKeys(fixture);
      expect(await start(fixture)).toEqual([...requests]);
      expect(fixture.keySet.find('one')).toBeArrayOfSize(1);
      for (let refresh = 0; refresh < 3; refresh += 1)
        expect(await fixture.advance(maxAgeMs)).toEqual(requests.slice(-1));
    });
  }

  for (const [failure, mode, requests] of faults) {
    test(`fails once a cooldown with ${failure} for metadata ${JSON.stringify(mode)}, and recovers`, async () => {
      const fixture = await setUp();
      const faulty = 'kind' in mode ? (mode as IssuerMode) : fixture.metadata(mode);
      for (const path of both) fixture.server.documents.set(path, faulty);
      expect(await start(fixture, failure === 'timeout')).toEqual([...requests]);
      expect(fixture.events).toMatchObject([{ type: 'failed', failure, failures: 1 }]);

      serveUsually(fixture);
      const leftMs = cooldownMs - (failure === 'timeout' ? timeoutMs : 0);
      expect(await fixture.advance(leftMs - 1)).toEqual([]);
      expect(await fixture.advance(1)).toEqual([OPENID, KEYS]);
      expect(fixture.events.at(-1)).toMatchObject({ type: 'fetched', added: ['one'], afterFailures: 1 });
    });
  }

  for (const [failure, ...modes] of [
    ['malformed', answer(404), text('null')],
    ['issuer_mismatch', other, answer(404)],
    ['issuer_mismatch', answer(404), other],
    ['network', other, { kind: 'cut off' }],
  ] as const) {
    test(`reports ${failure} for one document after the other: ${JSON.stringify(modes)}`, async () => {
      const fixture = await setUp();
      for (const [index, mode] of modes.entries())
        fixture.server.documents.set(both[index] ?? '', 'kind' in mode ? mode : fixture.metadata(mode));
      expect(await start(fixture)).toEqual(both);
      expect(fixture.events).toMatchObject([{ type: 'failed', failure }]);
    });
  }

  test('names the address that was asked, and the issuer that its metadata name, shortened and escaped', async () => {
    const fixture = await setUp();
    fixture.server.documents.set(OPENID, fixture.metadata({ issuer: `\u202e${'x'.repeat(300)}` }));
    await start(fixture);
    const address = new URL(OPENID, fixture.server.url).href;
    const fault = { failure: 'issuer_mismatch', address, found: `\\u202e${'x'.repeat(255)}` };
    expect(fixture.events).toMatchObject([fault]);
    expect(fixture.keySet.state().lastFailure).toMatchObject(fault);
  });

  test('names the cause when the issuer is down', async () => {
    const fixture = await setUp();
    await fixture.server.goDown();
    await start(fixture);
    expect(fixture.keySet.state().lastFailure).toMatchObject({ failure: 'network', cause: 'ECONNREFUSED' });
  });

  test('asks only the configured address, also while it is a 404', async () => {
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(url);
      return new Response('', { status: 404 });
    };
    const jwksUri = 'http://127.0.0.1:1/keys';
    const source = createKeySetSource({ issuer: 'https://issuer.example.test/', jwksUri, allowHttp: false, fetch });
    await expect(source(new AbortController().signal)).rejects.toMatchObject({ fault: { status: 404 } });
    expect(asked).toEqual([jwksUri]);
  });

  for (const [named, issuer, allowHttp, isAllowed] of [
    ['https://keys.example.test/', 'https://issuer.example.test', false, true],
    ['http://keys.example.test/', 'https://issuer.example.test', true, true],
    ['http://keys.example.test/', 'https://issuer.example.test', false, false],
    ['http://127.0.0.1:81/keys', 'http://localhost:80', false, true],
    ['http://localhost/keys', 'http://[::1]', false, true],
    ...[
      'http://127.0.0.1/keys',
      'https://127.0.0.1/keys',
      'http://127.1/keys',
      'http://localhost:6379/',
      'http://localhost./',
      'http://keys.localhost/',
      'http://[::1]/',
      'http://[::]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:0.0.0.0]/',
      'http://0.0.0.0/',
      'http://2130706433/',
    ].flatMap((named) =>
      [false, true].map((allowHttp) => [named, 'https://issuer.example.test', allowHttp, false] as const),
    ),
  ] as const) {
    test(`${isAllowed ? 'fetches' : 'refuses'} ${named} named by ${issuer}${allowHttp ? ', plain http allowed' : ''}`, async () => {
      const asked: string[] = [];
      const fetch = async (url: string) => {
        asked.push(url);
        return Response.json({ issuer, jwks_uri: named });
      };
      const source = createKeySetSource({ issuer, allowHttp, fetch });
      const outcome = await source(new AbortController().signal).catch(({ fault }: FetchError) => fault.failure);
      expect(asked).toEqual([`${issuer}/.well-known/openid-configuration`, ...(isAllowed ? [named] : [])]);
      if (!isAllowed) expect(outcome).toBe('insecure_address');
    });
  }

  test('does not look for metadata while the usual place fails with anything but a 404', async () => {
    const fixture = await setUp('/');
    fixture.server.documents.set(USUAL, { kind: 'answer', status: 503 });
    fixture.server.documents.set(OPENID, fixture.metadata());
    expect(await start(fixture)).toEqual([USUAL]);
  });

  test('follows a key set that moved within the attempt that finds it gone', async () => {
    const fixture = await setUp();
    serveUsually(fixture);
    await start(fixture);
    fixture.server.documents.delete(KEYS);
    const moved = `${new URL(fixture.server.url).origin}/moved`;
    fixture.server.documents.set(OPENID, fixture.metadata({ jwks_uri: moved }));
    fixture.server.documents.set('/moved', { kind: 'keys' });
    expect(await fixture.advance(maxAgeMs)).toEqual([KEYS, OPENID, '/moved']);
    expect(await fixture.advance(maxAgeMs)).toEqual(['/moved']);
    expect(fixture.events.at(-1)).toMatchObject({ type: 'fetched', removed: [] });
  });

  test('looks again, a cooldown later, when the key set that the metadata name fails at first', async () => {
    const fixture = await setUp();
    fixture.server.documents.set(OPENID, fixture.metadata());
    fixture.server.documents.set(KEYS, { kind: 'answer', status: 500 });
    expect(await start(fixture)).toEqual([OPENID, KEYS]);
    expect(await fixture.advance(cooldownMs)).toEqual([OPENID, KEYS]);
  });

  test('looks again, a cooldown later, when the key set fails in another way', async () => {
    const fixture = await setUp();
    serveUsually(fixture);
    await start(fixture);
    fixture.server.documents.set(KEYS, { kind: 'answer', status: 500 });
    const moved = `${new URL(fixture.server.url).origin}/moved`;
    fixture.server.documents.set(OPENID, fixture.metadata({ jwks_uri: moved }));
    fixture.server.documents.set('/moved', { kind: 'keys' });
    expect(await fixture.advance(maxAgeMs)).toEqual([KEYS]);
    expect(fixture.keySet.find('one')).toBeArrayOfSize(1);
    expect(await fixture.advance(cooldownMs)).toEqual([OPENID, '/moved']);
  });

  test('finds the keys once the issuer comes up that was down at the start', async () => {
    const fixture = await setUp();
    serveUsually(fixture);
    await fixture.server.goDown();
    expect(await start(fixture)).toEqual([]);
    expect(fixture.events).toMatchObject([{ type: 'failed', failure: 'network' }]);
    await fixture.server.comeBack();
    expect(await fixture.advance(cooldownMs)).toEqual([OPENID, KEYS]);
    expect(fixture.keySet.find('one')).toBeArrayOfSize(1);
  });

  test('keeps the keys while the issuer is down later, and looks for them again afterwards', async () => {
    const fixture = await setUp();
    serveUsually(fixture);
    await start(fixture);
    await fixture.server.goDown();
    await fixture.advance(maxAgeMs);
    expect(fixture.keySet.find('one')).toBeArrayOfSize(1);
    expect(fixture.events.at(-1)).toMatchObject({ type: 'failed', failure: 'network' });
    await fixture.server.comeBack();
    expect(await fixture.advance(cooldownMs)).toEqual([OPENID, KEYS]);
  });
});
