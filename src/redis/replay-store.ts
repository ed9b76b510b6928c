import { RedisClient } from 'bun';
import type { ReplayStore } from 'protected-api';
import { faultOf, findCause, StoreError, type StoreEvent, type StoreFailure } from './store-failure.ts';

export interface RedisReplayStoreOptions {
  /** URL of Redis 6.2 or later, or Valkey: `redis://` or `rediss://`, optionally with user, password and database. */
  readonly url: string;
  readonly onEvent?: ((event: StoreEvent) => void) | undefined;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: () => number;
}

/** Longer than any pause of a healthy server or of this process. Requests wait no longer than this. */
const replyTimeoutMs = 1000;
/** A recovered server is noticed after this interval and at most one timeout, so within two seconds. */
const checkIntervalMs = 500;
/** Limits the memory that a hanging server can cost, to about 20 MB. */
const maxPending = 20_000;
const keyPrefix = 'dpop:';
/** Longer than the interval between two checks of a process that was paused. */
const markerLifetimeMs = 600_000;

/** A connection, and how often the marker was written over it: with that number, each reply names its request. */
interface Connection {
  readonly client: RedisClient;
  writes: number;
}

/**
 * A store that all processes with the same `url` share. Marking a proof takes two commands, which are sent together;
 * the second shows that the server has lost no data and the connection no reply. It is sent twice a second too, so that
 * `isConnected` shows an outage, a full memory or a read-only replica before a request meets it, and `markUsed`
 * rejects at once.
 */
export class RedisReplayStore implements ReplayStore {
  /** A key of this process alone. If it is gone, so may be all others. */
  readonly #marker = `${keyPrefix}check:${crypto.randomUUID()}`;
  /** Bun's client does not always reconnect, so each attempt creates a new one. Undefined while disconnected. */
  #connection: Connection | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;
  /** The cause of this outage that was reported last. */
  #cause: string | undefined;
  /** Since the connection was made or lost. */
  #failures = 0;
  #pending = 0;
  #runId: string | undefined;
  /** Proofs that were created until then may have been used, unknown to the server. */
  #forgottenUntilMs = Number.NEGATIVE_INFINITY;
  /** When the proofs that this connection rejected, and those like them, are no longer valid. */
  #rejectsUntilMs = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  constructor(private readonly options: RedisReplayStoreOptions) {
    this.#now = options.now ?? Date.now;
  }

  async markUsed(key: string, lifetimeMs: number, issuedAtMs: number): Promise<boolean> {
    const connection = this.#connection;
    if (connection === undefined) throw new StoreError('connection');
    if (this.#pending >= maxPending) throw this.#reject('overloaded', this.#now(), lifetimeMs, issuedAtMs);
    if (issuedAtMs <= this.#forgottenUntilMs)
      throw this.#reject('forgotten', this.#forgottenUntilMs, lifetimeMs, issuedAtMs);
    this.#pending += 1;
    try {
      const mark = connection.client.send('SET', [keyPrefix + key, '', 'NX', 'PX', String(lifetimeMs)]);
      const [reply] = await within(Promise.all([mark, this.#verify(connection)]));
      if (reply !== 'OK' && reply !== null) throw new StoreError('refused');
      return reply === 'OK';
    } catch (error) {
      throw this.#lose(connection, error);
    } finally {
      this.#pending -= 1;
    }
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Connects, and reconnects from then on. */
  start(): void {
    void this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.client.close();
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const connection = this.#connection;
    if (connection)
      await within(this.#verify(connection)).then(
        () => this.#recover(),
        (error) => this.#lose(connection, error),
      );
    else await this.#connect().catch((error) => this.#failed(error));
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#check(), checkIntervalMs);
  }

  async #failed(error: unknown): Promise<void> {
    const { failure, reply } = faultOf(error);
    // After 0, 1, 2, 4, 8, ... failures, because the first may only be that the network or the server is not up yet.
    const isExamined = (this.#failures & (this.#failures - 1)) === 0;
    const isUnclear = failure === 'connection' && isExamined && !this.#isStopped;
    const cause = isUnclear ? await findCause(this.options.url, replyTimeoutMs).catch(() => undefined) : reply;
    if (!this.#isStopped) this.#report(failure, cause);
  }

  async #connect(): Promise<void> {
    const clientOptions = { connectionTimeout: replyTimeoutMs, autoReconnect: false, enableOfflineQueue: false };
    const client = new RedisClient(this.options.url, clientOptions);
    try {
      await within(client.connect());
      const reset = [this.#marker, '0', 'PX', String(markerLifetimeMs)];
      const isKept = (await within(client.send('SET', [...reset, 'XX', 'GET']))) !== null;
      if (!isKept) await within(client.send('SET', reset));
      if (!isKept && this.#runId !== undefined) this.#runId = 'forgotten';
      // Not every account may use INFO. Without it, every connection is treated as one to a server that lost its data.
      const info = await within(client.send('INFO', [])).then(String, () => '');
      if (this.#isStopped || !client.connected) throw new StoreError('connection');
      this.#connected({ client, writes: 0 }, info);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  #connected(connection: Connection, info: string): void {
    const runId = /^run_id:(\w+)/m.exec(info)?.[1];
    if (runId === undefined || runId !== this.#runId) {
      // The first server may have lost the proofs that were used before it started. A server that replaced another, was
      // emptied, or does not tell its age, may have lost all proofs from before now.
      const [, uptimeSeconds = 0] = /^uptime_in_seconds:(\d+)/m.exec(info) ?? [];
      this.#forgottenUntilMs = this.#now() - (this.#runId === undefined ? Number(uptimeSeconds) * 1000 : 0);
    }
    this.#runId = runId ?? 'unknown';
    const evicts = !/^maxmemory:0\b/m.test(info) && /^maxmemory_policy:(?!noeviction)/m.test(info);
    const afterFailures = this.#failures;
    this.#failures = 0;
    this.#cause = undefined;
    this.#rejectsUntilMs = Number.NEGATIVE_INFINITY;
    this.#connection = connection;
    connection.client.onclose = () => this.#lose(connection, new StoreError('connection'));
    this.options.onEvent?.({ type: 'connected', afterFailures, evicts });
  }

  /** Rejects unless the server still has the marker, and replies to this very request. */
  async #verify(connection: Connection): Promise<void> {
    const writes = String(connection.writes);
    connection.writes += 1;
    const next = [this.#marker, String(connection.writes), 'PX', String(markerLifetimeMs)];
    const found = await connection.client.send('SET', [...next, 'XX', 'GET']);
    if (found !== writes) throw new StoreError(found === null ? 'forgotten' : 'connection');
  }

  #lose(connection: Connection, error: unknown): StoreError {
    const { failure, reply } = faultOf(error);
    if (connection !== this.#connection) return new StoreError(failure);
    this.#connection = undefined;
    connection.client.close();
    this.#failures = 0;
    return this.#report(failure, reply);
  }

  /** Rejects a proof although the store is connected, and perhaps others that were created until `createdUntilMs`. */
  #reject(failure: StoreFailure, createdUntilMs: number, lifetimeMs: number, issuedAtMs: number): StoreError {
    const validMs = this.#now() + lifetimeMs - issuedAtMs;
    this.#rejectsUntilMs = Math.max(this.#rejectsUntilMs, createdUntilMs + validMs);
    return this.#report(failure);
  }

  #recover(): void {
    // An outage may have begun since the check.
    if (this.#connection === undefined || this.#failures === 0 || this.#now() < this.#rejectsUntilMs) return;
    this.options.onEvent?.({ type: 'recovered', failures: this.#failures });
    this.#failures = 0;
  }

  #report(failure: StoreFailure, cause?: string): StoreError {
    this.#failures += 1;
    const newCause = cause === this.#cause ? undefined : cause;
    this.#cause = cause ?? this.#cause;
    this.options.onEvent?.({ type: 'failed', failure, failures: this.#failures, cause: newCause });
    return new StoreError(failure);
  }
}

/** Rejects after the timeout, but only after the replies that have already arrived were read. */
function within<Reply>(reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new StoreError('timeout'))), replyTimeoutMs);
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
