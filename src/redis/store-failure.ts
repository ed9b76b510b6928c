import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ReplayStoreEvent } from 'protected-api';

/** Why it is unknown whether a proof was used. Never the server's message, which can repeat what was sent. */
export const storeFailures = ['connection', 'timeout', 'full', 'refused', 'overloaded', 'forgotten'] as const;

export type StoreFailure = (typeof storeFailures)[number];

export type StoreEvent =
  | {
      readonly type: 'connected';
      readonly afterFailures: number;
      /** Whether the server deletes keys when it is full, so that a proof could be used again. */
      readonly evicts: boolean;
    }
  /**
   * `failures` counts attempts to connect, or proofs that a connected store rejected. `cause` is the first word of what
   * Redis replied, or what {@link findCause} returns after a failed attempt to connect; undefined if it was reported
   * before.
   */
  | {
      readonly type: 'failed';
      readonly failure: StoreFailure;
      readonly failures: number;
      readonly cause?: string | undefined;
    }
  /** No proof that is valid now is like those that the connected store rejected. */
  | Extract<ReplayStoreEvent, { type: 'recovered' }>;

/** Returns the failure that an error of the store or of Bun's client shows, and the first word that Redis replied. */
export function faultOf(error: unknown): { readonly failure: StoreFailure; readonly reply?: string | undefined } {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const known = storeFailures.find((failure) => failure === code);
  if (known) return { failure: known };
  // ERR is the reply to many mistakes. The codes of Bun's client have underscores.
  if (typeof code !== 'string' || !/^(?!ERR$)[A-Z]+$/.test(code)) return { failure: 'connection' };
  return { failure: code === 'OOM' ? 'full' : 'refused', reply: code };
}

/**
 * Returns why a server cannot be used, because Bun's client does not say it: the code of the system or of a
 * certificate, such as `ECONNREFUSED` and `CERT_HAS_EXPIRED`, or the first word of what the server replies, such as
 * `WRONGPASS` and `NOAUTH`; for `ERR` also to which command. Returns undefined if nothing is wrong.
 * @param url of Redis, as for {@link RedisReplayStore}
 * @throws {URIError} the password is not percent-encoded
 */
export async function findCause(url: string, timeoutMs: number): Promise<string | undefined> {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
  const credentials = [username, password].filter(Boolean).map(decodeURIComponent);
  // What Bun's client sends.
  const commands = [
    password === '' ? ['PING'] : ['AUTH', ...credentials],
    ['SELECT', pathname.slice(1) || '0'],
    ['HELLO', '3'],
  ];
  return new Promise((resolve) => {
    const isTls = protocol === 'rediss:' || protocol === 'valkeys:';
    const socket = isTls ? connectTls({ ...address, rejectUnauthorized: true }) : connectTcp(address);
    const finish = (cause: string | undefined) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(cause);
    };
    const timer = setTimeout(finish, timeoutMs, 'ETIMEDOUT');
    socket.on('error', ({ code }: NodeJS.ErrnoException) => finish(code));
    socket.on('close', () => finish('ECONNRESET'));
    let [command = [], ...rest] = commands;
    const send = () => socket.write(encodeCommand(command));
    socket.on(isTls ? 'secureConnect' : 'connect', send);
    socket.on('data', (reply) => {
      const [, word] = /^-([A-Z]{2,32}) /.exec(String(reply)) ?? [];
      if (word !== undefined) return finish(word === 'ERR' ? `ERR on ${command[0]}` : word);
      [command = [], ...rest] = rest;
      if (command.length === 0) finish(undefined);
      else send();
    });
  });
}

/** @see https://redis.io/docs/latest/develop/reference/protocol-spec/#arrays */
const encodeCommand = (words: readonly string[]) =>
  [`*${words.length}`, ...words.flatMap((word) => [`$${Buffer.byteLength(word)}`, word]), ''].join('\r\n');
