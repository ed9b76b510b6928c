import { describe, expect, test } from 'bun:test';
import { isLoopbackHost } from '../../../src/auth/keys/address.ts';
import { type FetchError, fetchJson } from '../../../src/auth/keys/fetch-json.ts';
import { startIssuer } from '../../support/issuer.ts';

const maxBytes = 1024 * 1024;
const url = 'https://issuer.example.test/keys';

/** Fetches a response, and returns what it comes to and how it was asked for. */
async function outcomeOf(response: Response, from = url) {
  let request: RequestInit = {};
  const fetch = async (_: string, init: RequestInit) => {
    request = init;
    return response;
  };
  const json = fetchJson(fetch, from, AbortSignal.timeout(10_000));
  const outcome = await json.catch(({ fault }: FetchError) => fault);
  return { outcome, request };
}

/** A body that counts the bytes that were read, and notes whether it was cancelled. */
function bodyOf(pieces: readonly Uint8Array[]) {
  const read = { pieces: 0, isCancelled: false };
  const queue = pieces.values();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { value, done } = queue.next();
        if (done) return controller.close();
        read.pieces += 1;
        controller.enqueue(value);
      },
      cancel() {
        read.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { read, stream };
}

describe('fetchJson()', () => {
  for (const [bytes, isTaken] of [
    [maxBytes, true],
    [maxBytes + 1, false],
  ] as const) {
    test(`${isTaken ? 'reads' : 'rejects'} an answer of ${bytes} bytes`, async () => {
      const { outcome } = await outcomeOf(new Response('[]'.padEnd(bytes)));
      expect(outcome).toMatchObject(isTaken ? [] : { failure: 'too_large', address: url });
    });
  }

  test('stops reading at the limit, however much would follow', async () => {
    const { read, stream } = bodyOf(Array.from({ length: 64 }, () => Buffer.alloc(maxBytes / 16, ' ')));
    expect((await outcomeOf(new Response(stream))).outcome).toMatchObject({ failure: 'too_large' });
    expect(read).toEqual({ pieces: 17, isCancelled: true });
  });

  test('decodes characters that are split between two chunks', async () => {
    const text = 'clé \u{1f511} sûre';
    const { stream } = bodyOf([...Buffer.from(JSON.stringify(text))].map((byte) => Buffer.of(byte)));
    expect((await outcomeOf(new Response(stream))).outcome).toBe(text as never);
  });

  for (const [status, failure] of [
    [201, 'status'],
    [206, 'status'],
    [299, 'status'],
    [300, 'redirect'],
    [302, 'redirect'],
    [399, 'redirect'],
    [400, 'status'],
    [404, 'status'],
    [500, 'status'],
  ] as const) {
    test(`rejects the status ${status}, and reads nothing of the answer`, async () => {
      const { read, stream } = bodyOf([Buffer.from('[]')]);
      const { outcome } = await outcomeOf(new Response(stream, { status }));
      expect(outcome).toEqual({ failure, address: url, cause: undefined, status, found: undefined });
      expect(read).toEqual({ pieces: 0, isCancelled: true });
    });
  }

  for (const encoding of ['gzip', 'zstd', 'br', 'identity, gzip', 'GZIP', 'x']) {
    test(`rejects the content encoding ${encoding}, and reads nothing of the answer`, async () => {
      const { read, stream } = bodyOf([Buffer.from('[]')]);
      const { outcome } = await outcomeOf(new Response(stream, { headers: { 'content-encoding': encoding } }));
      expect(outcome).toMatchObject({ failure: 'encoded', address: url });
      expect(read).toEqual({ pieces: 0, isCancelled: true });
    });
  }

  for (const text of ['', ' ', '<html>', '{"keys":[', '[],']) {
    test(`calls ${JSON.stringify(text)} malformed`, async () => {
      expect((await outcomeOf(new Response(text))).outcome).toMatchObject({ failure: 'malformed', address: url });
    });
  }

  test('requests uncompressed JSON, follows no redirect, and bypasses a proxy only for loopback', async () => {
    const asked = {
      redirect: 'manual',
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      decompress: false,
    };
    const away = await outcomeOf(new Response('[]', { headers: { 'content-encoding': 'identity' } }));
    expect(away).toMatchObject({ outcome: [], request: asked });
    expect(away.request).not.toHaveProperty('proxy');
    const { request } = await outcomeOf(new Response('[]'), 'http://127.0.0.1/');
    expect(request).toMatchObject({ ...asked, proxy: false });
  });

  for (const [kind, failure, cause] of [
    ['hang', 'timeout', undefined],
    ['drip', 'timeout', undefined],
    ['cut off', 'network', 'ECONNRESET'],
    ['huge', 'too_large', undefined],
  ] as const) {
    test(`fails with ${failure} when a server does this: ${kind}`, async () => {
      const server = await startIssuer();
      server.mode = { kind };
      const abort = new AbortController();
      const json = fetchJson(fetch, `${server.url}.well-known/jwks.json`, abort.signal);
      if (failure === 'timeout') {
        while (server.fetches === 0) await Bun.sleep(0);
        abort.abort();
      }
      const error: unknown = await json.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ fault: { failure, cause } });
      await server.close();
    });
  }

  test('fails with timeout once the signal is aborted, even if fetch ignores that', async () => {
    const json = fetchJson(() => new Promise(() => {}), url, AbortSignal.abort());
    await expect(json).rejects.toMatchObject({ fault: { failure: 'timeout', address: url } });
  });

  const withCode = (code: unknown, message = '') => Object.assign(new Error(message), { code });
  const within = (cause: unknown) => new TypeError('fetch failed', { cause });
  const inWords = (words: string) =>
    within(new Error(`error sending request for url (${url}): client error (${words})`));
  for (const [name, error, cause] of [
    ['Bun: unknown name', withCode('ENOTFOUND', 'getaddrinfo ENOTFOUND issuer'), 'ENOTFOUND'],
    ['Bun: certificate', withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['Node: refused', within(withCode('ECONNREFUSED')), 'ECONNREFUSED'],
    ['Node: private CA', within(withCode('SELF_SIGNED_CERT_IN_CHAIN')), 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['Deno: unknown name', inWords('Connect): dns error: failed to lookup address information'), 'ENOTFOUND'],
    ['Deno: refused', inWords('Connect): tcp connect error: Connection refused (os error 111)'), 'ECONNREFUSED'],
    ['Deno: reset', within(new Error('Connection reset by peer (os error 104)')), 'ECONNRESET'],
    ['Deno: private CA', inWords('Connect): invalid peer certificate: UnknownIssuer'), 'UnknownIssuer'],
    ['other words', new Error(`secret ${url}`), undefined],
    ['a code that is a sentence', withCode('Cannot connect: secret'), undefined],
    ['a code that is a number', withCode(7), undefined],
    ['no error', 'ECONNREFUSED', undefined],
  ] as const) {
    test(`names the cause ${cause} of a failure without a response (${name})`, async () => {
      const json = fetchJson(() => Promise.reject(error), url, new AbortController().signal);
      const fault = { failure: 'network', address: url, cause, status: undefined, found: undefined };
      await expect(json).rejects.toMatchObject({ fault });
    });
  }

  test('names the address without credentials, query and fragment', async () => {
    const { outcome } = await outcomeOf(
      new Response('', { status: 500 }),
      'https://u:p@keys.example.test:8443/a/k?key=1#x',
    );
    expect(outcome).toMatchObject({ address: 'https://keys.example.test:8443/a/k' });
  });
});

test('isLoopbackHost() takes the names and addresses of this machine, and none that only look so', () => {
  for (const host of ['localhost', '[::1]', '127.0.0.1', '127.255.255.254']) expect(isLoopbackHost(host)).toBe(true);
  for (const host of [
    'localhost.example.test',
    '127.0.0.1.example.test',
    'a127.0.0.1',
    '128.0.0.1',
    '[::2]',
    '127.1',
    '',
  ])
    expect(isLoopbackHost(host)).toBe(false);
});
