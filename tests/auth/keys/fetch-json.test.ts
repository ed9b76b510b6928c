import { describe, expect, test } from 'bun:test';
import { FetchError, fetchJson, isLoopbackHost } from '../../../src/auth/keys/fetch-json.ts';
import { type IssuerMode, startIssuer } from '../../support/issuer.ts';

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
  const outcome = await json.catch(({ failure, detail }: FetchError) => ({ failure, detail }));
  return { outcome, request };
}

/** A body that counts how much of it was read, and whether it was let go. */
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
      expect(outcome).toEqual(isTaken ? [] : { failure: 'too_large', detail: {} });
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
      expect(outcome).toEqual({ failure, detail: { status } });
      expect(read).toEqual({ pieces: 0, isCancelled: true });
    });
  }

  for (const encoding of ['gzip', 'zstd', 'br', 'identity, gzip', 'GZIP', 'x']) {
    test(`rejects the content encoding ${encoding}, and reads nothing of the answer`, async () => {
      const { read, stream } = bodyOf([Buffer.from('[]')]);
      const { outcome } = await outcomeOf(new Response(stream, { headers: { 'content-encoding': encoding } }));
      expect(outcome).toEqual({ failure: 'encoded', detail: {} });
      expect(read).toEqual({ pieces: 0, isCancelled: true });
    });
  }

  for (const text of ['', ' ', '<html>', '{"keys":[', '[],']) {
    test(`calls ${JSON.stringify(text)} malformed`, async () => {
      expect((await outcomeOf(new Response(text))).outcome).toEqual({ failure: 'malformed', detail: {} });
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

  for (const kind of ['hang', 'drip', 'cut off', 'huge'] as const satisfies IssuerMode['kind'][]) {
    test(`ends when a server ${kind === 'huge' ? 'sends 40 MB' : `does this: ${kind}`}`, async () => {
      const server = await startIssuer();
      server.mode = { kind };
      const abort = new AbortController();
      const json = fetchJson(fetch, `${server.url}.well-known/jwks.json`, abort.signal);
      if (kind === 'hang' || kind === 'drip') {
        while (server.fetches === 0) await Bun.sleep(0);
        abort.abort();
      }
      const error: unknown = await json.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(error instanceof FetchError && error.failure).toBe(kind === 'huge' ? 'too_large' : false);
      await server.close();
    });
  }
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
