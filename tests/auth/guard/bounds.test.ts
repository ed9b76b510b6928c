import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import type { FetchError } from '../../../src/auth/keys/fetch/fault.ts';
import { fetchJson } from '../../../src/auth/keys/fetch/fetch-json.ts';
import { readKeySet } from '../../../src/auth/keys/jwk-set.ts';
import { KeptIssuers, RejectedIssuers } from '../../../src/auth/lookup/kept-issuers.ts';
import { Questions } from '../../../src/auth/lookup/questions.ts';
import { McpHandles } from '../../../src/auth/mcp/handles.ts';
import { optionRules } from '../../../src/auth/options/rules.ts';
import { createMemoryReplayStore } from '../../../src/auth/proof/replay-store.ts';
import { TokenCache } from '../../../src/auth/token/token-cache.ts';
import type { GuardOptions } from '../../../src/auth/types.ts';
import { createTimeLimit } from '../../../src/auth/values/time-limit.ts';
import { createChecker, ISSUER, tokenOf } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { bearer, signingKeys } from '../../support/mint.ts';
import { bound, makeProof } from '../../support/proof.ts';

/*
 * What bounds the time, the work and the memory of all that a stranger, an issuer or the application can slow or fill,
 * and whom it can displace. A limit is tried exactly: what just fits, and one more.
 */

const warn = spyOn(console, 'warn').mockImplementation(() => {});
afterAll(() => void warn.mockRestore());

const settle = () => new Promise((done) => setImmediate(done));
const url = 'https://api.example.test/messages';
const dpop = { dpop: 'on', publicUrl: 'https://api.example.test' } as const;
const proven = (text?: string) => {
  const token = tokenOf({ claims: { cnf: bound } });
  return new Headers({ authorization: `DPoP ${token}`, dpop: text ?? makeProof({ url, token }) });
};

type Hang = () => Promise<never>;
interface FunctionRow {
  readonly options: (hang: Hang) => unknown;
  /** A token by default. */
  readonly credentials?: string | Headers;
  /** How long a request waits for it. */
  readonly waitsMs: 0 | 5000;
  readonly outcome: string;
}

/** Every option that is a function, or has one, and the outcome of a request if that never responds. */
const functions: Readonly<Record<string, FunctionRow>> = {
  issuer: { options: (issuer) => ({ issuer, keys: undefined }), waitsMs: 5000, outcome: 'issuer_unavailable' },
  fetch: { options: (fetch) => ({ fetch, keys: undefined }), waitsMs: 5000, outcome: 'keys_unavailable' },
  isRevoked: { options: (isRevoked) => ({ isRevoked }), waitsMs: 5000, outcome: 'revocation_unavailable' },
  introspect: {
    options: (introspect) => ({ introspect }),
    credentials: 'opaque',
    waitsMs: 5000,
    outcome: 'introspection_unavailable',
  },
  replayStore: {
    options: (markUsed) => ({ ...dpop, replayStore: { markUsed } }),
    credentials: proven(),
    waitsMs: 5000,
    outcome: 'replay_unknown',
  },
  // These must be synchronous.
  claims: {
    options: (validate) => ({ claims: { '~standard': { version: 1, vendor: 'test', validate } } }),
    waitsMs: 0,
    outcome: 'claims_unexpected',
  },
  clientCertificate: {
    options: (clientCertificate) => ({ clientCertificate }),
    credentials: tokenOf({ claims: { cnf: { 'x5t#S256': 'x' } } }),
    waitsMs: 0,
    outcome: 'certificate_unreadable',
  },
  formatRejection: { options: (formatRejection) => ({ formatRejection }), waitsMs: 0, outcome: 'TypeError' },
  // Nothing waits for these.
  onAccepted: { options: (onAccepted) => ({ onAccepted }), waitsMs: 0, outcome: 'accepted' },
  onRejected: { options: (onRejected) => ({ onRejected }), credentials: 'opaque', waitsMs: 0, outcome: 'rejected' },
  onKeySetEvent: {
    options: (onKeySetEvent) => ({ onKeySetEvent, keys: undefined, fetch: published }),
    waitsMs: 0,
    outcome: 'accepted',
  },
  waitUntil: {
    options: (waitUntil) => ({ waitUntil, keys: undefined, fetch: published }),
    waitsMs: 0,
    outcome: 'accepted',
  },
  onReplayStoreEvent: {
    options: (onReplayStoreEvent) => ({ ...dpop, onReplayStoreEvent, replayStore: { markUsed: () => 'broken' } }),
    credentials: proven(),
    waitsMs: 0,
    outcome: 'replay_unknown',
  },
};
const published = async () => Response.json({ keys: signingKeys() });

describe('a function of the application that never responds', () => {
  test('is in this table, whatever its name is', () => {
    const isFunction = (name: string, read: (value: unknown) => unknown) =>
      ['claims', 'replayStore'].includes(name) || typeof read(() => {}) === 'function';
    const names = Object.entries(optionRules).flatMap(([name, { read }]) => (isFunction(name, read) ? [name] : []));
    expect(Object.keys(functions).toSorted()).toEqual(names.toSorted());
  });

  test.each(Object.entries(functions))('%s', async (_, { options, credentials = tokenOf(), waitsMs, outcome }) => {
    const clock = createFrozenClock();
    const called = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    const hang = (...given: readonly { readonly signal?: AbortSignal }[]) => {
      signal = given.at(-1)?.signal;
      called.resolve();
      return new Promise<never>(() => {});
    };
    const decide = async () => {
      const check = createChecker(options(hang) as Partial<GuardOptions>, { clock });
      const { result, reason } = await check(credentials);
      return reason ?? (result instanceof Response ? 'rejected' : 'accepted');
    };
    let found = 'pending';
    const decided = decide().then(
      (reason) => (found = reason),
      (error: Error) => (found = error.name),
    );
    if (waitsMs > 0) {
      await Promise.race([called.promise, decided]);
      clock.advance(waitsMs - 1);
      await settle();
      expect([found, signal?.aborted]).toEqual(['pending', false]);
      clock.advance(1);
    }
    await decided;
    expect([found, signal?.aborted ?? false]).toEqual([outcome, waitsMs > 0]);
  });
});

/** Texts and documents: the longest that is read, and what becomes of one more. */
describe('a text or a document', () => {
  const isTold = async (read: () => unknown) => {
    try {
      await read();
      return 'read';
    } catch (error) {
      return (error as FetchError).fault.failure;
    }
  };
  const fetched = (bytes: number, kind: 'key set' | 'metadata') => () =>
    fetchJson(async () => new Response(`{}`.padEnd(bytes)), ISSUER, kind, new AbortController().signal);
  const keysOf = (count: number, perId: number) => ({
    keys: Array.from({ length: count }, (_, index) => ({ kid: String(index % Math.ceil(count / perId)) })),
  });
  const asked: string[] = [];
  const check = createChecker({
    ...dpop,
    introspect: (token) => {
      asked.push(token);
      return { active: false };
    },
  });
  const reasonOf = async (credentials: string | Headers) => String((await check(credentials)).reason);
  const sole = createChecker();
  const issuers: string[] = [];
  const finding = createChecker({ issuer: (iss) => void issuers.push(iss), keys: undefined });
  const named = async (length: number) =>
    String((await finding({ claims: { iss: 'https://a/'.padEnd(length, 'x') } })).reason);

  test.each<[name: string, limit: number, read: (size: number) => Promise<string>, fits: string, more: string]>([
    ['key set, in bytes', 2 ** 20, (size) => isTold(fetched(size, 'key set')), 'read', 'too_large'],
    ['metadata, in bytes', 2 ** 20, (size) => isTold(fetched(size, 'metadata')), 'read', 'too_large'],
    ['key set, in keys', 1000, (size) => isTold(() => readKeySet(keysOf(size, 1))), 'read', 'too_large'],
    ['key set, in keys of one kid', 100, (size) => isTold(() => readKeySet(keysOf(size, 1000))), 'read', 'too_large'],
    [
      'token',
      16_384,
      async (size) => String((await sole('a.b.c'.padEnd(size, 'c'))).reason),
      'token_malformed',
      'token_oversized',
    ],
    ['opaque token', 16_384, (size) => reasonOf('x'.repeat(size)), 'token_inactive', 'token_oversized'],
    ['proof', 4096, (size) => reasonOf(proven('x'.repeat(size))), 'proof_malformed', 'proof_oversized'],
    ['iss for the function issuer', 512, named, 'issuer_mismatch', 'issuer_mismatch'],
  ])('%s: %p fit, and one more is rejected', async (_, limit, read, fits, more) => {
    expect([await read(limit), await read(limit + 1)]).toEqual([fits, more]);
  });

  test('that is too long reaches no function of the application', () => {
    expect([asked, issuers].map((texts) => texts.map((text) => text.length))).toEqual([[16_384], [512]]);
  });
});

interface Filled {
  readonly size: () => number;
  /** Whether the entry that matters most is still there: of an honest client, or a live one. */
  readonly keepsFirst: () => boolean;
}
/** Returns a function that adds an entry. */
type Fill = () => Filled & { readonly add: (index: number) => unknown };

const maps: Readonly<Record<string, readonly [limit: number, adds: number, fill: Fill, isFirstKept: boolean]>> = {
  // Only tokens with a valid signature get in. While all are valid, most new ones are not admitted.
  'verified tokens': [
    10_000,
    10_050,
    () => {
      const cache = new TokenCache({ maxEntries: 10_000, isGood: () => true, random: () => 0.9 });
      const add = (index: number) => cache.set(String(index), { claims: {} });
      return { add, size: () => cache.size, keepsFirst: () => cache.peek('0') !== undefined };
    },
    true,
  ],
  'bytes of verified tokens': [
    64 * 2 ** 20,
    8200,
    () => {
      const cache = new TokenCache({ maxEntries: 1_000_000, isGood: () => false, random: () => 0 });
      const add = (index: number) => cache.set(`${index} `.padEnd(8192), { claims: {} });
      return { add, size: () => cache.bytes, keepsFirst: () => cache.size > 7000 };
    },
    true,
  ],
  // One of a verified token is displaced only by 900 others of verified tokens.
  'issuers that unverified tokens name': [
    101,
    150,
    () => {
      const kept = new KeptIssuers<object>(() => {});
      const add = (index: number) => {
        kept.set(String(index), {});
        if (index === 0) kept.verify('0');
      };
      return { add, size: () => [...kept].length, keepsFirst: () => kept.name('0') !== undefined };
    },
    true,
  ],
  'issuers of verified tokens': [
    1000,
    1050,
    () => {
      const kept = new KeptIssuers<object>(() => {});
      const add = (index: number) => {
        kept.set(String(index), {});
        kept.verify(String(index));
        kept.verify('0');
      };
      return { add, size: () => [...kept].length, keepsFirst: () => kept.peek('0') !== undefined };
    },
    true,
  ],
  // The oldest name is then looked up once more.
  'unknown names of issuers': [
    10_000,
    10_050,
    () => {
      const rejected = new RejectedIssuers();
      const add = (index: number) => rejected.set(String(index), { reason: 'issuer_mismatch', until: 1 });
      return { add, size: () => rejected.size, keepsFirst: () => rejected.find('0', 0) !== undefined };
    },
    false,
  ],
  'questions about issuers': [
    100,
    150,
    () => {
      const clock = createFrozenClock();
      const withinLimit = createTimeLimit(clock, 5000);
      const questions = new Questions({ ask: () => new Promise(() => {}), clock, withinLimit, jwksTimeoutSeconds: 5 });
      const add = (index: number) => questions.areTooMany(() => true) || questions.ask(String(index), () => undefined);
      return { add, size: () => questions.issuers.length, keepsFirst: () => questions.isPending('0') };
    },
    true,
  ],
  // A full store responds with a 503, because a used proof that it forgot could be used again.
  'used proofs': [
    200_000,
    200_050,
    () => {
      const store = createMemoryReplayStore();
      const add = (index: number) => store.markUsed(String(index), 90_000);
      return { add, size: () => store.state().entries, keepsFirst: () => !store.markUsed('0', 90_000) };
    },
    true,
  ],
  // Of one owner: another's are not displaced.
  'MCP sessions of one user': [
    101,
    150,
    () => {
      const sessions = new McpHandles();
      let added = 0;
      const add = (index: number) => {
        added = index;
        sessions.use(String(index), index === 0 ? 'honest' : 'stranger');
      };
      const isKept = (index: number) => sessions.ownerOf(String(index)) !== undefined;
      const size = () => Array.from({ length: added + 1 }, (_, index) => isKept(index)).filter(Boolean).length;
      return { add, size, keepsFirst: () => isKept(0) };
    },
    true,
  ],
};

test.each(Object.entries(maps))('%s are limited, and what is full displaces only what it may', (_, row) => {
  const [limit, adds, fill, isFirstKept] = row;
  const { add, size, keepsFirst } = fill();
  for (let index = 0; index < adds; index += 1) {
    try {
      add(index);
    } catch {}
  }
  expect(size()).toBeLessThanOrEqual(limit);
  expect(size()).toBeGreaterThan(limit * 0.99);
  expect(keepsFirst()).toBe(isFirstKept);
});

test('strangers fill no cache: a token without a valid signature, and a proof without a token, leave nothing', async () => {
  let used = 0;
  const check = createChecker({ ...dpop, replayStore: { markUsed: () => ++used > 0 } });
  for (let index = 0; index < 20; index += 1) {
    const token = tokenOf({ claims: { cnf: bound, jti: String(index) } }).replace(/.{8}$/, 'AAAAAAAA');
    const { result } = await check(new Headers({ authorization: `DPoP ${token}`, dpop: makeProof({ url, token }) }));
    expect(result).toMatchObject({ status: 401 });
    expect((await check(new Headers(bearer(token)))).result).toMatchObject({ status: 401 });
  }
  expect([check.core.state().cacheEntries, used]).toEqual([0, 0]);
});
