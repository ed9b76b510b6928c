import { RedisClient } from 'bun';
import type { ReplayStore } from 'protected-api/guard';

/** Why the store cannot determine whether a proof was used. It never contains the server's message, which can repeat what was sent. */
export type StoreFailure = 'connection' | 'timeout' | 'full' | 'refused' | 'overloaded' | 'forgotten';

export type StoreEvent =
  | {
      readonly type: 'connected';
      readonly afterFailures: number;
      /** Whether the server deletes keys when it is full, so that a proof could be used again. */
      readonly evicts: boolean;
    }
  /** `failures` counts attempts to connect, or proofs that a connected store rejected. */
  | { readonly type: 'failed'; readonly failure: StoreFailure; readonly failures: number };

export interface RedisReplayStore extends ReplayStore {
  state(): { readonly isConnected: boolean; readonly lastFailure: StoreFailure | undefined };
  /** Connects, and reconnects from then on. */
  start(): void;
  stop(): void;
}

export interface RedisReplayStoreOptions {
  /** Address of Redis or Valkey: `redis://` or `rediss://`, optionally with user, password and database. */
  readonly url: string;
  /** How long a proof that was just created is marked as used. Determines which proofs a server that lost its data may have stored. */
  readonly usualLifetimeMs: number;
  readonly onEvent?: ((event: StoreEvent) => void) | undefined;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: () => number;
}

/** Longer than any pause of a healthy server or of this process. Requests wait no longer than this. */
const timeoutMs = 1000;
/** A recovered server is noticed after this interval and at most one timeout, so within two seconds. */
const checkIntervalMs = 500;
/** Limits the memory that a hanging server can cost, to about 10 MB. */
const maxPending = 20_000;
const keyPrefix = 'dpop:';

class StoreError extends Error {
  constructor(readonly failure: StoreFailure) {
    super(`Cannot mark a proof as used: ${failure}`);
  }
}

/**
 * Returns a store that all processes with the same `url` share. Marking a proof takes one command. While the server is known to
 * be unavailable, that is rejected at once. The store writes to the server twice a second, so that `state` shows an outage, a
 * full memory or a read-only replica before a request encounters it.
 */
export function createRedisReplayStore(options: RedisReplayStoreOptions): RedisReplayStore {
  return new ConnectedStore(options);
}

class ConnectedStore implements RedisReplayStore {
  readonly #options: RedisReplayStoreOptions;
  readonly #now: () => number;
  readonly #checkKey = `${keyPrefix}check:${crypto.randomUUID()}`;
  /** Bun's client does not always reconnect, so each attempt creates a new one. Undefined while disconnected. */
  #client: RedisClient | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;
  #lastFailure: StoreFailure | undefined;
  #failures = 0;
  /** Since the connection was made. */
  #rejections = 0;
  #pending = 0;
  #runId: string | undefined;
  #forgottenUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: RedisReplayStoreOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async markUsed(key: string, lifetimeMs: number): Promise<boolean> {
    const client = this.#client;
    if (client === undefined) throw new StoreError('connection');
    if (this.#pending >= maxPending) throw this.#reject('overloaded');
    if (this.#now() + lifetimeMs <= this.#forgottenUntilMs) throw this.#reject('forgotten');
    this.#pending += 1;
    try {
      const reply = await within(client.send('SET', [keyPrefix + key, '', 'NX', 'PX', String(lifetimeMs)]));
      if (reply !== 'OK' && reply !== null) throw new StoreError('refused');
      return reply === 'OK';
    } catch (error) {
      const failure = failureOf(error);
      this.#lose(client, failure);
      throw new StoreError(failure);
    } finally {
      this.#pending -= 1;
    }
  }

  state() {
    return { isConnected: this.#client !== undefined, lastFailure: this.#lastFailure };
  }

  start(): void {
    void this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    client?.close();
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const client = this.#client;
    if (client) await this.#write(client).catch((error) => this.#lose(client, failureOf(error)));
    else await this.#connect();
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#check(), checkIntervalMs);
  }

  async #write(client: RedisClient): Promise<void> {
    await within(client.send('SET', [this.#checkKey, '', 'PX', String(timeoutMs)]));
  }

  async #connect(): Promise<void> {
    const client = new RedisClient(this.#options.url, {
      connectionTimeout: timeoutMs,
      autoReconnect: false,
      enableOfflineQueue: false,
    });
    try {
      await within(client.connect());
      await this.#write(client);
      // Not every account may use INFO. Without it, every connection is treated as one to a server that lost its data.
      const info = await within(client.send('INFO', [])).then(String, () => '');
      if (this.#isStopped || !client.connected) throw new StoreError('connection');
      this.#connected(client, info);
    } catch (error) {
      client.close();
      if (!this.#isStopped) this.#failed(failureOf(error));
    }
  }

  #connected(client: RedisClient, info: string): void {
    const runId = /^run_id:(\w+)/m.exec(info)?.[1];
    if (runId === undefined || runId !== this.#runId) this.#forget(info);
    this.#runId = runId ?? 'unknown';
    const evicts = !/^maxmemory:0\b/m.test(info) && /^maxmemory_policy:(?!noeviction)/m.test(info);
    const event: StoreEvent = { type: 'connected', afterFailures: this.#failures, evicts };
    this.#failures = 0;
    this.#rejections = 0;
    this.#lastFailure = undefined;
    this.#client = client;
    client.onclose = () => this.#lose(client, 'connection');
    this.#options.onEvent?.(event);
  }

  /**
   * The first server may have lost the proofs that were used before it started. One that replaced another, or does not tell its
   * age, may have lost all from before now.
   */
  #forget(info: string): void {
    const [, uptimeSeconds = 0] = /^uptime_in_seconds:(\d+)/m.exec(info) ?? [];
    const ageMs = this.#runId === undefined ? Number(uptimeSeconds) * 1000 : 0;
    this.#forgottenUntilMs = this.#now() - ageMs + this.#options.usualLifetimeMs;
  }

  /** Reports a proof that is rejected although the server is available. */
  #reject(failure: StoreFailure): StoreError {
    this.#rejections += 1;
    this.#options.onEvent?.({ type: 'failed', failure, failures: this.#rejections });
    return new StoreError(failure);
  }

  #lose(client: RedisClient, failure: StoreFailure): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    client.close();
    this.#failed(failure);
  }

  #failed(failure: StoreFailure): void {
    this.#failures += 1;
    this.#lastFailure = failure;
    this.#options.onEvent?.({ type: 'failed', failure, failures: this.#failures });
  }
}

/** Rejects after the timeout, but only after the replies that have already arrived were read. */
function within<Reply>(reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new StoreError('timeout'))), timeoutMs);
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreError) return error.failure;
  const isReply = error instanceof Error && 'code' in error && error.code === 'ERR_REDIS_SERVER_ERROR';
  if (!isReply) return 'connection';
  return error.message.startsWith('OOM') ? 'full' : 'refused';
}
