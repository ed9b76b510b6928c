import { RedisClient } from 'bun';
import type { ReplayStore } from 'protected-api';
import { redisReplayStore, type RedisReplayStore as SharedStore } from 'protected-api/redis';
import { faultOf, findCause, type StoreEvent, type StoreFailure } from './store-failure.ts';

/*
 * The connection of the service to Redis: it is checked before a request needs it, and replaced when it fails. What a
 * proof costs there, and which replies are trusted, is decided in protected-api/redis.
 */

export interface RedisReplayStoreOptions {
  /** URL of Redis 6.2 or later, or Valkey: `redis://` or `rediss://`, optionally with user, password and database. */
  readonly url: string;
  readonly onEvent?: ((event: StoreEvent) => void) | undefined;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: () => number;
}

/** Longer than any pause of a healthy server or of this process. */
const connectTimeoutMs = 1000;
/** A recovered server is noticed after this interval and at most two timeouts, so within three seconds. */
const checkIntervalMs = 500;

/**
 * A store that all processes with the same `url` share. It is checked twice a second, so that `isConnected` shows an
 * outage, a full memory or a read-only replica before a request meets it, and `markUsed` rejects at once.
 */
export class RedisReplayStore implements ReplayStore {
  readonly #store: SharedStore;
  /** Bun's client does not always reconnect, so each attempt creates a new one. Undefined while disconnected. */
  #client: RedisClient | undefined;
  #isConnected = false;
  /** Tells the store that the next reply may be that of another server. */
  #beginSession = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;
  /** The cause of this outage that was reported last. */
  #cause: string | undefined;
  /** Since the connection was made or lost. */
  #failures = 0;
  /** When the proofs that this connection rejected, and those like them, are no longer valid. */
  #rejectsUntilMs = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  constructor(private readonly options: RedisReplayStoreOptions) {
    this.#now = options.now ?? Date.now;
    const client = {
      send: (command: string, args: string[]) => this.#client?.send(command, args) ?? disconnected(),
      on: (_event: 'reconnecting', listener: () => void) => {
        this.#beginSession = listener;
      },
    };
    this.#store = redisReplayStore(client, { now: this.#now });
  }

  async markUsed(...use: Parameters<ReplayStore['markUsed']>): Promise<boolean> {
    const client = this.#client;
    if (!this.#isConnected) return disconnected();
    try {
      return await this.#store.markUsed(...use);
    } catch (error) {
      const { failure } = faultOf(error);
      const isRejection = failure === 'overloaded' || failure === 'forgotten';
      if (isRejection) this.#reject(failure, use);
      else if (client === this.#client) this.#lose(error);
      throw error;
    }
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Connects, and reconnects from then on. */
  start(): void {
    void this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#disconnect();
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const client = this.#client;
    if (this.#isConnected)
      await this.#store.check().then(
        () => this.#recover(),
        (error) => {
          const isLost = faultOf(error).failure !== 'overloaded' && client === this.#client;
          if (isLost) this.#lose(error);
        },
      );
    else await this.#connect().catch((error) => this.#failed(error));
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#check(), checkIntervalMs);
  }

  async #failed(error: unknown): Promise<void> {
    this.#disconnect();
    const { failure, reply } = faultOf(error);
    // After 0, 1, 2, 4, 8, ... failures, because the first may only be that the network or the server is not up yet.
    const isExamined = (this.#failures & (this.#failures - 1)) === 0;
    const isUnclear = failure === 'connection' && isExamined && !this.#isStopped;
    const cause = isUnclear ? await findCause(this.options.url, connectTimeoutMs).catch(() => undefined) : reply;
    if (!this.#isStopped) this.#report(failure, cause);
  }

  async #connect(): Promise<void> {
    const clientOptions = { connectionTimeout: connectTimeoutMs, autoReconnect: false, enableOfflineQueue: false };
    const client = new RedisClient(this.options.url, clientOptions);
    client.onclose = () => client === this.#client && this.#isConnected && this.#lose(undefined);
    this.#client = client;
    this.#beginSession();
    await client.connect();
    const { evicts } = await this.#store.check();
    if (!client.connected) await disconnected();
    const afterFailures = this.#failures;
    this.#failures = 0;
    this.#cause = undefined;
    this.#rejectsUntilMs = Number.NEGATIVE_INFINITY;
    this.#isConnected = true;
    this.options.onEvent?.({ type: 'connected', afterFailures, evicts });
  }

  #disconnect(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#isConnected = false;
    client?.close();
  }

  #lose(error: unknown): void {
    const { failure, reply } = faultOf(error);
    this.#disconnect();
    this.#failures = 0;
    this.#report(failure, reply);
  }

  /** Reports a proof that was rejected although the store is connected. Others that exist now may be, too. */
  #reject(failure: StoreFailure, [, lifetimeMs, issuedAtMs]: Parameters<ReplayStore['markUsed']>): void {
    const validMs = this.#now() + lifetimeMs - issuedAtMs;
    this.#rejectsUntilMs = Math.max(this.#rejectsUntilMs, this.#now() + validMs);
    this.#report(failure);
  }

  #recover(): void {
    // An outage may have begun since the check.
    if (!this.#isConnected || this.#failures === 0 || this.#now() < this.#rejectsUntilMs) return;
    this.options.onEvent?.({ type: 'recovered', failures: this.#failures });
    this.#failures = 0;
  }

  #report(failure: StoreFailure, cause?: string): void {
    this.#failures += 1;
    const newCause = cause === this.#cause ? undefined : cause;
    this.#cause = cause ?? this.#cause;
    this.options.onEvent?.({ type: 'failed', failure, failures: this.#failures, cause: newCause });
  }
}

const disconnected = () => Promise.reject(Object.assign(new Error('Cannot reach Redis'), { code: 'connection' }));
