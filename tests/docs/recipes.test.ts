import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { context, metrics, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { decodeJwt } from 'jose';
import { bearer } from '../support/mint.ts';
import { blocks, ecSigner, folder, issuer, load, options, url } from './blocks.ts';

describe('the recipe', () => {
  test('The WebSocket of a browser: the server selects the subprotocol bearer', async () => {
    const { fetch } = await load('The WebSocket of a browser');
    await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch, websocket: { message() {} } });
    const token = await issuer.token({ iss: url, aud: options.audience });
    const protocol = (...protocols: readonly string[]) =>
      new Promise<string>((done) => {
        const socket = new WebSocket(server.url.href.replace('http', 'ws'), [...protocols]);
        socket.onopen = () => done(socket.protocol);
        socket.onerror = () => done('rejected');
      });
    expect([await protocol('bearer', token), await protocol('bearer', `${token}x`)]).toEqual(['bearer', 'rejected']);
  });

  test('FAPI 2.0: a request with a proof is accepted once, and only with a token of type at+jwt', async () => {
    const { fetch } = await load('FAPI 2.0');
    const claims = decodeJwt(await issuer.token({ iss: url, aud: options.audience }, { boundTo: 'dpop' }));
    const requestWith = async (typ: string) => {
      const token = ecSigner.sign({ kid: 'ec', typ }, claims);
      const request = new Request(options.audience, { headers: { authorization: `DPoP ${token}` } });
      request.headers.set('dpop', await issuer.proof(request, token));
      return request;
    };
    const sent = await requestWith('at+jwt');
    const responses = [await fetch(sent), await fetch(new Request(sent)), await fetch(await requestWith('JWT'))];
    const challenges = responses.map(({ headers }) => headers.get('www-authenticate')?.match(/error="(\w+)"/)?.[1]);
    expect(responses.map(({ status }) => status)).toEqual([200, 401, 401]);
    expect(challenges).toEqual([undefined, 'invalid_dpop_proof', 'invalid_token']);
  });

  test('OpenTelemetry: a rejection is counted by its reason, and the client is an attribute of the span', async () => {
    /** A counter or attribute, and its values. */
    const observed: unknown[] = [];
    const createCounter = (name: string) => ({ add: (...given: unknown[]) => observed.push([name, ...given]) });
    metrics.setGlobalMeterProvider({ getMeter: () => ({ createCounter }) } as never);
    const span = { setAttribute: (...given: unknown[]) => observed.push(given) };
    context.setGlobalContextManager({ active: () => trace.setSpan(ROOT_CONTEXT, span as never) } as never);
    // Another test may have imported the block before there was anything to observe it.
    const text = blocks.find(({ heading }) => heading === 'OpenTelemetry')?.text ?? '';
    await Bun.write(join(folder, 'observed.ts'), text.replaceAll('https://tenant.example.com/', url));
    const { fetch } = await import(join(folder, 'observed.ts'));
    const token = await issuer.token({ iss: url, aud: options.audience, client_id: 'app' });
    await fetch(new Request(options.audience, { headers: bearer(token) }));
    await fetch(new Request(options.audience));
    expect(observed).toEqual([
      ['client.id', 'app'],
      ['access_token_rejections', 1, { reason: 'credentials_missing' }],
    ]);
  });

  test('Keys that outlive a cold start: a guard that starts during an outage uses an entry of the cache until it expires', async () => {
    const block = blocks.find(({ text }) => text.includes('export const cache'));
    await using server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      routes: {
        '/.well-known/openid-configuration': (): Response => Response.json({ issuer: url, jwks_uri: `${url}keys` }),
        '/keys': Response.json(issuer.options.keys),
      },
      fetch: () => new Response(null, { status: 404 }),
    });
    const url: string = server.url.href;
    const options = { issuer: url, audience: issuer.options.audience };
    await Bun.write(
      join(folder, 'fetching.ts'),
      `export const options = { ...${JSON.stringify(options)}, onKeySetEvent() {} };`,
    );
    const authorization = bearer(await issuer.token({ iss: url }));
    /** Starts a guard with the entries of another one's cache, and returns that cache and the status of a request. */
    const start = async (name: string, entries: Iterable<readonly [string, { expiresMs: number }]> = []) => {
      const text = block?.text.replace('./options.ts', './fetching.ts');
      await Bun.write(join(folder, `${name}.ts`), text ?? '');
      const { cache, fetch } = await import(join(folder, `${name}.ts`));
      for (const entry of entries) cache.set(...entry);
      return { cache, status: (await fetch(new Request('http://localhost/', { headers: authorization }))).status };
    };
    const { cache, status } = await start('running');
    expect([status, cache.size]).toEqual([200, 3]);
    await server.stop(true);
    expect(await start('cold', cache)).toMatchObject({ status: 200 });
    for (const entry of cache.values()) entry.expiresMs = Date.now();
    expect(await start('late', cache)).toMatchObject({ status: 503 });
  });
});
