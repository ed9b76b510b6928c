import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import * as DPoP from 'dpop';
import { createGuard, type GuardOptions } from '../../src/auth/index.ts';
import { createDevelopmentIssuer, createTestIssuer } from '../../src/auth/testing.ts';
import { runToEnd } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { readText } from '../support/repository.ts';
import { blocks, folder } from './blocks.ts';

/** The blocks of docs/guides/callers.md call an API that a real guard protects. */
const load = (id: string) => import(join(folder, blocks.find((block) => block.id === id)?.file ?? id));
const { call, ScopeRequired } = await load('guides/callers#With a bearer token');
const { callWithProof, keyPair } = await load('guides/callers#With DPoP');
const scope = 'read:messages';

/** Serves an API, and counts its requests. */
function startApi(options: GuardOptions) {
  const guard = createGuard(options);
  const statuses: number[] = [];
  const server = serve(async (request) => {
    const result = await guard.check(request, { scope });
    const response = result instanceof Response ? result : Response.json([]);
    statuses.push(response.status);
    return response;
  });
  return { server, statuses, [Symbol.dispose]: () => void server.stop(true) };
}

describe('docs/guides/callers.md: call()', async () => {
  const issuer = await createTestIssuer();
  const [good, other, expired] = [
    await issuer.token({ scope }),
    await issuer.token(),
    await issuer.token({ scope }, { expired: true }),
  ];

  test.each([
    ['a good token', [good], [200], 0],
    ['an expired token, and renews it', [expired, good], [401, 200], 1],
    ['an expired token once', [expired, expired], [401, 401], 1],
  ])('calls with %s', async (_, [first, renewed], expected, renewals) => {
    using api = startApi(issuer.options);
    let count = 0;
    const renew = async () => {
      count += 1;
      return renewed;
    };
    const response = await call(api.server.url.href, { get: async () => first, renew });
    expect([response.status, api.statuses, count]).toEqual([expected.at(-1), expected, renewals]);
  });

  test('renews a token once for all requests, also for one that was sent before', async () => {
    using api = startApi(issuer.options);
    let [token, count] = [expired, 0];
    const renew = async () => {
      count += 1;
      await Promise.resolve();
      token = good;
      return good;
    };
    const tokens = { get: async () => token, renew };
    const callAgain = () => call(api.server.url.href, tokens);
    const given = [expired];
    const late = { renew, get: async () => given.shift() ?? token };
    const all = [callAgain(), callAgain(), callAgain()];
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await call(api.server.url.href, late)).status).toBe(200);
    expect(count).toBe(1);
  });

  test.each(['Wed, 21 Oct 2026 07:28:00 GMT', '3600', 'soon'])('does not wait for Retry-After: %s', async (time) => {
    let count = 0;
    using api = serve(() => {
      count += 1;
      return new Response(null, { status: 503, headers: { 'retry-after': time } });
    });
    const tokens = { get: async () => good, renew: () => Promise.reject(new Error('renewed')) };
    expect((await call(api.url.href, tokens)).status).toBe(503);
    expect(count).toBe(1);
  });

  test('asks for the scope of the challenge, and renews nothing', async () => {
    using api = startApi(issuer.options);
    const tokens = { get: async () => other, renew: () => Promise.reject(new Error('renewed')) };
    const called = call(api.server.url.href, tokens);
    await expect(called).rejects.toThrow(ScopeRequired);
    await expect(called).rejects.toMatchObject({ scope });
    expect(api.statuses).toEqual([403]);
  });

  test('repeats after a 503, with the same token', async () => {
    const sent: (string | null)[] = [];
    using api = serve(({ headers }) => {
      sent.push(headers.get('authorization'));
      return sent.length > 1 ? new Response() : new Response(null, { status: 503, headers: { 'retry-after': '0' } });
    });
    const tokens = { get: async () => good, renew: () => Promise.reject(new Error('renewed')) };
    expect((await call(api.url.href, tokens)).status).toBe(200);
    expect(sent).toEqual([`Bearer ${good}`, `Bearer ${good}`]);
  });

  test('can be tried as the page says', async () => {
    using api = startApi(issuer.options);
    const text = blocks.find(({ id }) => id === 'guides/callers#With a bearer token 2')?.text ?? '';
    const file = join(folder, 'try.ts');
    await Bun.write(file, text.replace('http://localhost:3010/', api.server.url.href));
    const said = await runToEnd([process.execPath, file], { TOKEN: good });
    expect([said.stdout, api.statuses]).toEqual(['200 []\n', [401, 200]]);
    const plain = await runToEnd([process.execPath, file], { TOKEN: other });
    expect(plain.stderr).toContain(`The scope ${scope} is required`);
  });
});

test('docs/guides/dpop.md: the file of Try it prints what the page says', async () => {
  const page = await readText('docs/guides/dpop.md');
  const [, text = ''] = /`try-dpop\.mjs`.*?^```js\n(.*?)^```$/ms.exec(page) ?? [];
  const clients = [{ id: 'reader', secret: 's', scope }];
  let respond: (request: Request) => Promise<Response>;
  using server = serve((request) => respond(request));
  const issuer = server.url.href;
  respond = createDevelopmentIssuer({ issuer, audience: 'https://api.example.com', clients }).fetch;
  const file = join(folder, 'try-dpop.mjs');
  await Bun.write(file, text.replace('http://localhost:4010/', issuer));
  const { stdout, stderr } = await runToEnd([process.execPath, file], { SECRET: 's' });
  expect(stderr).toBe('');
  expect(page).toContain(`\`${stdout.trim().replace('\n', '` and `')}\``);
});

test('docs/guides/callers.md: callWithProof() gets a bound token, repeats with the nonce, and keeps it', async () => {
  const audience = 'https://api.example.test';
  const clients = [{ id: 'page', secret: 's', scope }];
  const issuer = createDevelopmentIssuer({ issuer: 'http://localhost:4010/', audience, clients });
  const url = 'http://localhost:4010/oauth/token';
  const proof = await DPoP.generateProof(keyPair, url, 'POST');
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'page', client_secret: 's' });
  const granted = await issuer.fetch(new Request(url, { method: 'POST', body, headers: { dpop: proof } }));
  const { access_token: token, token_type: type } = (await granted.json()) as Record<string, string>;
  expect(type).toBe('DPoP');

  let publicUrl = '';
  const guards: { check?: ReturnType<typeof createGuard>['check'] } = {};
  const statuses: number[] = [];
  using api = serve(async (request) => {
    guards.check ??= createGuard({ ...issuer.options, dpop: 'on', dpopNonceSecret: 'n'.repeat(32), publicUrl }).check;
    const result = await guards.check(request, { scope });
    const response = result instanceof Response ? result : new Response();
    statuses.push(response.status);
    return response;
  });
  publicUrl = api.url.origin;
  for (let count = 0; count < 2; count += 1) expect((await callWithProof(api.url.href, token)).status).toBe(200);
  expect(statuses).toEqual([401, 200, 200]);
});
