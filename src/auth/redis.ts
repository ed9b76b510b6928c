import type { ReplayStore } from './types.ts';
import { nameOfFault } from './values/faults.ts';

/*
 * A store of used proofs in Redis, by the client that an application has. What a mark means, and what a request gets if
 * the store cannot tell, is decided in proof/.
 */

/**
 * A client of Redis or Valkey over one connection: of node-redis (`createClient`), of ioredis (`Redis`), or of Bun.
 * `on` says that it will connect again, perhaps to another server.
 */
export type RedisClient = (
  | { sendCommand(words: string[]): Promise<unknown> }
  | { call(command: string, ...args: string[]): Promise<unknown> }
  | { send(command: string, args: string[]): Promise<unknown> }
) & { on?(event: 'reconnecting', listener: () => void): unknown };

/** The options of {@link redisReplayStore}. */
export interface RedisReplayStoreOptions {
  /** Put before each key, which then is at most 64 characters. Defaults to `dpop:`. */
  readonly keyPrefix?: string | undefined;
  /** Wall-clock time in milliseconds since 1970. Defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** A replay store that several processes share. */
export interface RedisReplayStore extends ReplayStore {
  markUsed(...use: Parameters<ReplayStore['markUsed']>): Promise<boolean>;
  /**
   * Rejects unless proofs can be marked as used now: for a readiness probe. Resolves to whether the server deletes keys
   * when it is full (`maxmemory-policy` other than `noeviction`), so that a proof could be used again.
   */
  check(): Promise<{ readonly evicts: boolean }>;
}

/**
 * Why it is unknown whether a proof was used. Never what the server said, which can repeat what was sent.
 * @hidden
 */
class StoreError extends Error {
  /** `timeout`, `forgotten`, `overloaded`, `connection`; the first word of the server, such as `OOM`; or a code. */
  constructor(readonly code: string) {
    super(`Cannot mark a proof as used: ${code}`);
  }
}

/** Longer than any pause of a healthy server or of this process. A client may wait for a connection for ever. */
const replyTimeoutMs = 1000;
/** Limits the memory that a hanging server can cost, to about 20 MB. */
const maxPending = 20_000;
/** A day, because the first proofs of an API that was idle for longer get a 503. A process leaves one key. */
const markerLifetimeMs = 86_400_000;

type Send = (command: string, ...args: string[]) => Promise<unknown>;

/** What the server has said since the last doubt about its data, or about which reply belongs to which command. */
interface Session {
  /** How often the marker was written: with that number, each reply names its command. */
  writes: number;
  readonly evicts: boolean;
}

/**
 * Returns a store of used proofs for the option `replayStore`. Marking a proof takes two commands, which are sent
 * together: the second shows that the server has lost no data, and the connection no reply. If the data were lost,
 * proofs from before that are rejected with a 503, because they may have been used. So are proofs for which there is no
 * reply within a second. The client has one connection: NOT a pool or a cluster, where one key says nothing of another.
 * @example
 * import { createClient } from 'redis';
 *
 * const client = await createClient({ url: process.env.REDIS_URL }).connect();
 * const guard = createGuard({ ...options, dpop: 'required', replayStore: redisReplayStore(client) });
 * @throws {TypeError} `client` is not a client of node-redis, ioredis or Bun
 */
export function redisReplayStore(
  client: RedisClient,
  { keyPrefix = 'dpop:', now = Date.now }: RedisReplayStoreOptions = {},
): RedisReplayStore {
  const send = sendOf(client);
  const data = createData(send, keyPrefix, now);
  let session: Promise<Session> | undefined;
  let pending = 0;
  // A client that does not say when it has connected again may have done so in any pause.
  const longestPauseMs = typeof client.on === 'function' ? Number.POSITIVE_INFINITY : replyTimeoutMs;
  let usedAtMs = Number.NEGATIVE_INFINITY;
  client.on?.('reconnecting', () => {
    session = undefined;
  });

  /** Whoever waits for the first session shares it. After any doubt, the next call begins another. */
  async function inSession<Result>(use: (current: Session) => Promise<Result>): Promise<Result> {
    if (pending >= maxPending) throw new StoreError('overloaded');
    pending += 1;
    if (performance.now() - usedAtMs > longestPauseMs) session = undefined;
    usedAtMs = performance.now();
    session ??= data.open();
    const own = session;
    try {
      const result = await within(own.then(use));
      // Another server may have replied, which lacks what other processes have marked.
      if (session !== own) throw new StoreError('connection');
      return result;
    } catch (error) {
      const isDoubt = !(error instanceof StoreError && error.code === 'old');
      if (isDoubt && session === own) session = undefined;
      throw isDoubt ? faultOf(error) : new StoreError('forgotten');
    } finally {
      pending -= 1;
    }
  }

  return {
    markUsed: (key, lifetimeMs, issuedAtMs) =>
      inSession(async (current) => {
        if (data.mayHaveForgotten(issuedAtMs)) throw new StoreError('old');
        const mark = send('SET', keyPrefix + key, '', 'NX', 'PX', String(lifetimeMs));
        const [reply] = await Promise.all([mark, data.verify(current)]);
        if (reply !== 'OK' && reply !== null) throw new StoreError('connection');
        return reply === 'OK';
      }),
    check: () =>
      inSession(async (current) => {
        await data.verify(current);
        return { evicts: current.evicts };
      }),
  };
}

/** Returns functions that find out whether the server has lost data. */
function createData(send: Send, keyPrefix: string, now: () => number) {
  /** A key of this store alone, made when it is first used. If it is gone, so may be all others. */
  let marker = '';
  let runId: string | undefined;
  /** Proofs that were created until then may have been used, unknown to the server. */
  let forgottenUntilMs = Number.NEGATIVE_INFINITY;
  const write = (writes: number, ...conditions: string[]) =>
    send('SET', marker, String(writes), 'PX', String(markerLifetimeMs), ...conditions);

  return {
    mayHaveForgotten: (issuedAtMs: number) => issuedAtMs <= forgottenUntilMs,

    async open(): Promise<Session> {
      marker ||= `${keyPrefix}check:${crypto.randomUUID()}`;
      const isKept = (await write(0, 'XX', 'GET')) !== null;
      if (!isKept) await write(0);
      // Not every account may use INFO. Without it, every session is treated as one with a server that lost its data.
      const info = await send('INFO').then(String, () => '');
      const found = /^run_id:(\w+)/m.exec(info)?.[1];
      if (found === undefined || found !== runId || !isKept) {
        // The first server may have lost the proofs that were used before it started. One that replaced another, was
        // emptied, or does not tell its age, may have lost all proofs from before now.
        const [, uptimeSeconds = 0] = /^uptime_in_seconds:(\d+)/m.exec(info) ?? [];
        forgottenUntilMs = now() - (runId === undefined ? Number(uptimeSeconds) * 1000 : 0);
      }
      runId = found ?? 'unknown';
      const evicts = !/^maxmemory:0\b/m.test(info) && /^maxmemory_policy:(?!noeviction)/m.test(info);
      return { writes: 0, evicts };
    },

    /** Rejects unless the server still has the marker, and replies to this very command. */
    async verify(session: Session): Promise<void> {
      const writes = String(session.writes);
      session.writes += 1;
      const found = await write(session.writes, 'XX', 'GET');
      if (found !== writes) throw new StoreError(found === null ? 'forgotten' : 'connection');
    },
  };
}

/** Returns how a client sends a command. That of ioredis has `sendCommand` too, with something else. */
function sendOf(client: unknown): Send {
  const { call, send, sendCommand, isCluster, slots } = Object(client) as Readonly<Record<string, unknown>>;
  if (isCluster !== true && slots === undefined) {
    if (typeof call === 'function') return (...words) => call.apply(client, words);
    if (typeof send === 'function') return (command, ...args) => send.call(client, command, args);
    if (typeof sendCommand === 'function') return (...words) => sendCommand.call(client, words);
  }
  throw new TypeError(
    'Cannot create a replay store: expected a client of node-redis, ioredis or Bun with one connection, not a pool or a cluster',
  );
}

function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const [word] = (error instanceof Error && /^[A-Z]{2,32}\b/.exec(error.message)) || [];
  return new StoreError(word ?? nameOfFault(error));
}

/** Rejects after the timeout, but only after the replies that have already arrived were read. */
function within<Reply>(reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    // Unlike a further timer, it comes after what has arrived. Not every runtime has it.
    const expire = () => (globalThis.setImmediate ?? setTimeout)(() => reject(new StoreError('timeout')));
    const timer = setTimeout(expire, replyTimeoutMs);
    const settle =
      <Value>(end: (value: Value) => void) =>
      (value: Value) => {
        clearTimeout(timer);
        end(value);
      };
    reply.then(settle(resolve), settle(reject));
  });
}
