import { describe, expect, test } from 'bun:test';
import type { FetchError } from '../../../src/auth/keys/fetch/fault.ts';
import { fetchJson } from '../../../src/auth/keys/fetch/fetch-json.ts';
import { certificate } from '../../support/certificates.ts';
import { serve } from '../../support/fixture.ts';
import { startIssuer } from '../../support/issuer.ts';
import { rsaKey } from '../../support/keys.ts';

const secretUrl = 'https://user:password@issuer.example.test:8443/a/keys?key=1#x';
const url = 'https://issuer.example.test:8443/a/keys';

async function outcomeOf(response: Response, from = secretUrl) {
  let request: RequestInit = {};
  const fetch = async (_: string, init: RequestInit) => {
    request = init;
    return response;
  };
  const json = fetchJson(fetch, from, 'metadata', AbortSignal.timeout(10_000));
  const outcome = await json.catch(({ fault }: FetchError) => fault);
  return { outcome, request };
}

function bodyOf(pieces: readonly Uint8Array[]) {
  const read = { pieces: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[read.pieces];
        if (!piece) return controller.close();
        read.pieces += 1;
        controller.enqueue(piece);
      },
      cancel() {
        read.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { read, stream };
}

const encoded = (encoding: string) => ({ headers: { 'content-encoding': encoding } });
const unread: Readonly<Record<string, readonly ResponseInit[]>> = {
  status: [201, 206, 299, 304, 400, 404, 500].map((status) => ({ status })),
  redirect: [300, 302, 399].map((status) => ({ status })),
  encoded: ['gzip', 'zstd', 'br', 'identity, gzip', 'GZIP', 'x'].map(encoded),
};

describe('fetchJson()', () => {
  test('verifies the certificate of the issuer, whatever the environment says', async () => {
    const key = rsaKey('stranger').export({ format: 'pem', type: 'pkcs8' }).toString();
    await using server = serve(() => Response.json({}), { key, cert: certificate('a').pem });
    const { NODE_TLS_REJECT_UNAUTHORIZED } = process.env;
    try {
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      expect((await fetch(server.url)).status).toBe(200);
      const rejected = fetchJson(fetch, server.url.href, 'metadata', AbortSignal.timeout(10_000));
      await expect(rejected).rejects.toMatchObject({
        fault: { failure: 'network', cause: expect.stringMatching(/CERT/) },
      });
    } finally {
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = NODE_TLS_REJECT_UNAUTHORIZED ?? '1';
    }
  });

  test('reads a body of 1 MiB, and stops at the first byte beyond that', async () => {
    const mebibyte = Buffer.from('[]'.padEnd(1024 * 1024));
    expect(await outcomeOf(new Response(mebibyte))).toMatchObject({ outcome: [] });
    const { read, stream } = bodyOf([mebibyte, Buffer.of(32), Buffer.of(32)]);
    expect(await outcomeOf(new Response(stream))).toMatchObject({ outcome: { failure: 'too_large', address: url } });
    expect(read).toEqual({ pieces: 2, isCancelled: true });
  });

  test('decodes characters that are split between two chunks', async () => {
    const text = 'clé \u{1f511} sûre';
    const { stream } = bodyOf([...Buffer.from(JSON.stringify(text))].map((byte) => Buffer.of(byte)));
    expect((await outcomeOf(new Response(stream))).outcome).toBe(text as never);
  });

  for (const [failure, responses] of Object.entries(unread))
    for (const init of responses)
      test(`fails with ${failure} for ${JSON.stringify(init)}, and reads nothing of the body`, async () => {
        const { read, stream } = bodyOf([Buffer.from('[]')]);
        const { outcome } = await outcomeOf(new Response(stream, init));
        const found = new Response(null, init).headers.get('content-encoding') ?? undefined;
        expect(outcome).toEqual({ failure, address: url, cause: undefined, status: init.status, found });
        expect(read).toEqual({ pieces: 0, isCancelled: true });
      });

  test.each(['', 'Identity', 'identity'])('reads a body with the Content-Encoding %j', async (encoding) =>
    expect((await outcomeOf(new Response('[]', encoded(encoding)))).outcome).toEqual([]),
  );

  for (const [text, found] of [
    ['', 'no JSON'],
    [' ', 'no JSON'],
    ['{"keys":[', 'no JSON'],
    ['[],', 'no JSON'],
    ['\n<!doctype html>', 'a page'],
  ])
    test(`calls ${JSON.stringify(text)} malformed: ${found}`, async () =>
      expect(await outcomeOf(new Response(text))).toMatchObject({
        outcome: { failure: 'malformed', address: url, found },
      }));

  for (const [kind, failure, cause] of [
    ['hang', 'timeout', undefined],
    ['stall', 'timeout', undefined],
    ['cut off', 'network', 'ECONNRESET'],
    ['huge', 'too_large', undefined],
  ] as const)
    test(`fails with ${failure} when a server does this: ${kind}`, async () => {
      const server = await startIssuer();
      server.mode = { kind };
      const abort = new AbortController();
      const json = fetchJson(fetch, `${server.url}.well-known/jwks.json`, 'metadata', abort.signal);
      if (failure === 'timeout') {
        while (server.fetches === 0) await Bun.sleep(0);
        abort.abort();
      }
      await expect(json).rejects.toMatchObject({ fault: { failure, cause } });
      await server.close();
    });

  test('fails with timeout once the signal is aborted, even if fetch ignores the signal', async () => {
    const json = fetchJson(() => new Promise(() => {}), url, 'metadata', AbortSignal.abort());
    await expect(json).rejects.toMatchObject({ fault: { failure: 'timeout', address: url } });
  });

  const withCode = (code: unknown, message = '') => Object.assign(new Error(message), { code });
  const within = (cause: unknown) => new TypeError('fetch failed', { cause });
  const inWords = (words: string) =>
    within(new Error(`error sending request for url (${url}): client error (${words})`));
  for (const [name, error, cause] of [
    ['Bun: unknown name', withCode('ENOTFOUND', 'getaddrinfo ENOTFOUND issuer'), 'ENOTFOUND'],
    ['Bun: certificate', withCode('DEPTH_ZERO_SELF_SIGNED_CERT'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['Bun: no HTTP', withCode('Malformed_HTTP_Response'), 'Malformed_HTTP_Response'],
    ['Bun: a proxy by another protocol', withCode('UnsupportedProxyProtocol'), 'UnsupportedProxyProtocol'],
    ['Node: rejected', within(withCode('ECONNREFUSED')), 'ECONNREFUSED'],
    ['Node: private CA', within(withCode('SELF_SIGNED_CERT_IN_CHAIN')), 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['Deno: unknown name', inWords('Connect): dns error: failed to lookup address information'), 'ENOTFOUND'],
    ['Deno: refused', inWords('Connect): tcp connect error: Connection refused (os error 111)'), 'ECONNREFUSED'],
    ['Deno: reset', within(new Error('Connection reset by peer (os error 104)')), 'ECONNRESET'],
    ['Deno: private CA', inWords('Connect): invalid peer certificate: UnknownIssuer'), 'UnknownIssuer'],
    ['Bun: a proxy that rejects', withCode('ERR_PROXY_TUNNEL'), 'ERR_PROXY_TUNNEL'],
    [
      'Node: a proxy that rejects',
      within(within(withCode('UND_ERR_ABORTED', 'Proxy response (407) !== 200 when HTTP Tunneling'))),
      'ERR_PROXY_TUNNEL',
    ],
    ['Deno: a proxy that rejects', inWords('Connect): unsuccessful tunnel'), 'ERR_PROXY_TUNNEL'],
    ['Node: no permission', within(withCode('ERR_ACCESS_DENIED')), 'ERR_ACCESS_DENIED'],
    [
      'Deno: no permission',
      Object.assign(new Error('Requires net access to "issuer:443"'), { name: 'NotCapable' }),
      'ERR_ACCESS_DENIED',
    ],
    ['other words', new Error(`secret ${url}`), undefined],
    ['a code that is a sentence', withCode('Cannot connect: SECRET'), undefined],
    ['a code that is a number', withCode(7), undefined],
    ['no error', 'ECONNREFUSED', undefined],
  ] as const)
    test(`names the cause ${cause} of a failure without a response (${name})`, async () => {
      const json = fetchJson(() => Promise.reject(error), url, 'metadata', new AbortController().signal);
      const fault = { failure: 'network', address: url, cause, status: undefined, found: undefined };
      await expect(json).rejects.toMatchObject({ fault });
    });
});
