import { afterAll, describe, expect, setSystemTime, test } from 'bun:test';
import { createPublicKey } from 'node:crypto';
import { createServer } from 'node:http';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { createTestIssuer } from '../../src/auth/testing.ts';
import type { ProbeOptions, Verdict } from '../../src/probe/index.ts';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { notRecovered } from '../../src/probe/report/harm.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { listen } from '../support/raw-http.ts';
import { at, credentials, failingOpen, opensAt, opensIf, rejecting, rejection, tokenOf } from './servers/faults.ts';
import { audience, type Planted, rightServer, scope } from './servers/server.ts';

/** Time passes only while the probe waits for it. */
const clock = {
  now: () => Date.now(),
  async sleep(ms: number) {
    setSystemTime(Date.now() + ms);
  },
};
afterAll(() => void setSystemTime());

/** Tries rows on a planted server, and returns the verdicts by ID. */
async function verdictsOf(server: Planted, options: Partial<ProbeOptions> = {}) {
  const issuer = await startServedIssuer({ audience, kid: 'shared' });
  const { right, parts } = rightServer(issuer, audience);
  const fetch = async (request: Request) => server(request, right, parts);
  const given = { issuer: issuer.issuer, fetch, targets: [{ url: `${audience}/messages`, scope }], ...options };
  const report = await runProbe(given, issuer.server, clock);
  await issuer.server.close();
  const of = (id: string) => report.rows.find((row) => row.id === id);
  return { report, of, verdict: (id: string): Verdict | undefined => of(id)?.verdict };
}

const isHealthy = (request: Request) => !at(request).pathname.startsWith('/.well-known');

/** A server that caches what it fetches, and fetches for a name that it has not seen. */
function caching({ reads = (text: string) => JSON.parse(text) as JSONWebKeySet, refetches = true } = {}): Planted {
  let [text, isKept] = ['', false];
  return async (request, right, { keysUrl, respond }) => {
    const token = tokenOf(request);
    if (token === '') return right(request);
    let keys: JSONWebKeySet;
    try {
      const { kid } = decodeProtectedHeader(token);
      const isKnown = isKept && (!refetches || text.includes(`"${kid}"`));
      if (!isKnown) text = await (await fetch(keysUrl)).text();
      isKept = true;
      keys = reads(text);
    } catch {
      return new Response(null, { status: 500 });
    }
    return jwtVerify(token, createLocalJWKSet(keys)).then(
      ({ payload }) => respond(payload),
      () => rejection(),
    );
  };
}

describe('what was let in stays a failure', () => {
  test('if the API falls over afterwards', async () => {
    let requests = 0;
    const { report, verdict } = await verdictsOf(
      (request, right, parts) => {
        requests += 1;
        if (requests > 120) return new Response(null, { status: 500 });
        const isNone = tokenOf(request).startsWith(btoa('{"alg":"none').replaceAll('=', '').slice(0, 14));
        return isNone ? parts.respond({ sub: 'probe-control' } as JWTPayload) : right(request);
      },
      { only: ['none', 'signature', 'altered', 'encoding', 'text', 'claims', 'issuer'] },
    );
    expect(verdict('none-empty-signature')).toBe('failed');
    expect([report.isComplete, report.inconclusive.length > 10]).toEqual([false, true]);
    expect(report.render(false, 1000)).toContain(' let in what must be rejected; ');
  });

  test('if it is let in while no keys can be fetched, and then nothing works', async () => {
    let isBroken = false;
    const { verdict, of } = await verdictsOf(
      async (request, right, parts) => {
        if (isBroken) return new Response(null, { status: 500 });
        const response = await failingOpen(request, right, parts);
        isBroken =
          response.ok &&
          (await response.clone().text()).includes('probe-control') &&
          /"unknown-/.test(atob(tokenOf(request).split('.')[0] ?? ''));
        return response;
      },
      { only: ['fetch-outage', 'fetch-outage-forged'] },
    );
    expect(verdict('fetch-outage-forged')).toBe('failed');
    expect(of('fetch-outage')).toMatchObject({ verdict: 'warning', got: expect.stringContaining(notRecovered) });
  });
});

describe('a row that changes the keys', () => {
  test('fails if the API never recovers from it, and leaves no other row without a verdict', async () => {
    const kept = caching({
      refetches: true,
      reads(text) {
        if (!text.includes('null')) return JSON.parse(text) as JSONWebKeySet;
        throw new TypeError('not a key set');
      },
    });
    let isBroken = false;
    const sticky: Planted = async (request, right, parts) => {
      const response =
        isBroken && tokenOf(request) ? new Response(null, { status: 500 }) : await kept(request, right, parts);
      isBroken ||= response.status === 500 && isHealthy(request);
      return response;
    };
    const { report, of } = await verdictsOf(sticky, { only: ['fetch-redirect', 'fetch-malformed'] });
    expect(of('fetch-malformed')).toMatchObject({ verdict: 'warning', got: `500 ${notRecovered}` });
    expect(report.inconclusive).toEqual([]);
    expect(report.render(false, 1000)).toMatch(
      /\nStops serving clients with a good token[\s\S]*\nwarning +fetch-malformed /,
    );
  });

  test('is followed by a key of a new name, which an API fetches that keeps a wrong set otherwise', async () => {
    const { verdict } = await verdictsOf(caching(), {
      only: ['fetch-redirect', 'fetch-redirect-forged', 'fetch-malformed'],
    });
    expect(verdict('fetch-redirect-forged')).toBe('failed');
    expect(verdict('control-end')).toBe('passed');
  });

  test('is named by a second run as what the first may have left', async () => {
    const { of } = await verdictsOf((request, right) =>
      tokenOf(request) ? new Response(null, { status: 500 }) : right(request),
    );
    expect(of('control')?.got).toContain('an earlier run may have left it so');
  });
});

/** What a good token gets: it names the user, so no two users get the same. */
const named: Planted = async (request, right) => {
  const response = await right(request);
  if (!response.ok || !isHealthy(request)) return response;
  return Response.json({ user: credentials(request) ? 'probe-control' : null, items: ['a'] });
};
const shell = () => new Response('<html>shell</html>', { headers: { 'content-type': 'text/html' } });
const reports = (user: string) => new Response(`Hello ${user}, these are the three reports of this month`);

describe('a route that was forgotten', () => {
  test.each<[what: string, server: Planted, isFound: boolean]>([
    [
      'names nobody',
      (request, right, parts) =>
        at(request).pathname === '/messages/' ? Response.json({ user: null, items: [] }) : named(request, right, parts),
      true,
    ],
    [
      'is text about nobody',
      async (request, right) => {
        if (at(request).pathname === '/messages/') return reports('nobody');
        const response = await right(request);
        return response.ok && isHealthy(request) ? reports('probe-control') : response;
      },
      true,
    ],
    [
      'is another route, with other members',
      (request, right, parts) =>
        at(request).pathname === '/messages/' ? Response.json({ version: 1 }) : named(request, right, parts),
      false,
    ],
    [
      'is any path, with the shell of a page',
      (request, right, parts) =>
        at(request).pathname === '/messages' || !isHealthy(request) ? named(request, right, parts) : shell(),
      false,
    ],
    [
      'is any path, with an object of the same members',
      (request, right, parts) =>
        at(request).pathname === '/messages' || !isHealthy(request)
          ? named(request, right, parts)
          : Response.json({ user: null, items: [] }),
      false,
    ],
  ])('is %s', async (_, server, isFound) => {
    const { verdict } = await verdictsOf(server, { only: ['path-slash'] });
    expect(verdict('path-slash')).toBe(isFound ? 'failed' : 'passed');
  });

  test.each<[what: string, body: string, isFound: boolean]>([
    ['the resource beside other text', '{"error":"invalid_token","data":{"hello":"probe-control"}}', true],
    ['no part of it', '{"error":"invalid_token","hello":"nobody"}', false],
  ])('a rejection may have %s', async (_, body, isFound) => {
    const server = rejecting(() =>
      rejection(401, { 'www-authenticate': 'Bearer', 'content-type': 'application/json' }, body),
    );
    const { verdict } = await verdictsOf(server, { only: ['manners-no-success-body'] });
    expect(verdict('manners-no-success-body')).toBe(isFound ? 'warning' : 'passed');
  });

  test.each([
    '/messages%2fsecret/x',
    '/messages/secret%5cx',
    '/messages/./secret/x',
    '/messages;x=1/secret/x',
    '/messages/secret;x=1/x',
  ])('is found at %s', async (path) => {
    const server = opensIf(({ url }) => url === audience + path);
    const isSent = !path.includes('/./');
    const { verdict } = await verdictsOf(isSent ? server : opensAt('/messages/secret/x'), {
      only: ['path-within'],
      targets: [{ url: `${audience}/messages/secret/x`, scope }],
    });
    expect(verdict(isSent ? 'path-within' : 'no-token')).toBe('failed');
  });
});

describe('a row', () => {
  test('signature-modulus-up signs until a signature fits, for each key', async () => {
    for (let left = 4; left > 0; left -= 1) {
      const issuer = await createTestIssuer();
      const [jwk] = issuer.options.keys.keys;
      const modulus = BigInt(`0x${Buffer.from(String((jwk as { n?: string }).n), 'base64url').toString('hex')}`);
      const seen: Buffer[] = [];
      await runProbe({
        ...{ issuer, targets: [`${audience}/messages`], only: ['signature-modulus-up'] },
        async fetch(request) {
          const token = tokenOf(request);
          const isGood = await jwtVerify(token, createPublicKey({ key: jwk as object, format: 'jwk' })).catch(
            () => false,
          );
          if (token && !isGood) seen.push(Buffer.from(token.split('.')[2] ?? '', 'base64url'));
          return isGood ? Response.json({ a: 1 }) : rejection();
        },
      });
      const sum = seen.map((each) => [each.length, BigInt(`0x${each.toString('hex')}`) >= modulus]);
      if (modulus < (2n ** 2048n / 100n) * 98n) expect(sum).toEqual([[256, true]]);
    }
  });

  test.each<[what: string, isFetched: boolean, verdict: Verdict]>([
    ['has one key, and fetches none', false, 'skipped'],
    ['fetches keys, and takes any kid', true, 'warning'],
  ])('about kid judges an API that %s', async (_, isFetched, verdict) => {
    const { of } = await verdictsOf(
      async (request, right, { keysUrl, respond, verify }) => {
        const token = tokenOf(request);
        if (!token) return right(request);
        if (isFetched) await fetch(keysUrl);
        const [, payload = '', signature = ''] = token.split('.');
        const header = decodeProtectedHeader(token);
        // The signature covers the kid, so it is checked for the good token only.
        const isGood = header.alg === 'RS256' && signature.length === 342;
        return verify(token)
          .catch(() => isGood && (JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as JWTPayload))
          .then((claims) => (claims ? respond(claims) : rejection()));
      },
      { only: ['kid-unknown'] },
    );
    expect(of('kid-unknown')?.verdict).toBe(verdict);
  });

  test.each<[what: string, challenge: (right: string) => string | undefined, ids: readonly string[]]>([
    ['no challenge', () => undefined, ['challenge-present', 'challenge-scope-error']],
    ['a challenge that cannot be parsed', () => 'Bearer error="x', ['challenge-syntax']],
    ['two challenges, of which the second is right', (right) => `DPoP algs="ES256", ${right}`, []],
  ])('about challenges judges %s once', async (_, challengeOf, ids) => {
    const { report } = await verdictsOf(
      rejecting(({ status, headers }) => {
        const challenge = challengeOf(headers.get('www-authenticate') ?? '');
        return rejection(status, challenge === undefined ? {} : { 'www-authenticate': challenge });
      }),
      { only: ['challenge'] },
    );
    expect([...report.failed, ...report.warnings].map(({ id }) => id)).toEqual([...ids]);
  });

  test('about iat removes nothing else', async () => {
    const server: Planted = async (request, right, { verify }) => {
      const claims = await verify(tokenOf(request)).catch(() => undefined);
      return claims && claims.sub === undefined ? rejection() : right(request);
    };
    expect((await verdictsOf(server, { only: ['accepts-no-iat'] })).verdict('accepts-no-iat')).toBe('passed');
  });
});

describe('an API that lacks something', () => {
  test.each<[what: string, body: (isSigned: boolean) => string, words: RegExp]>([
    [
      'says so in the body',
      (isSigned) => JSON.stringify({ detail: isSigned ? 'No tenant' : 'Bad signature' }),
      /trusts the issuer, .*--claims/,
    ],
    ['says nothing', () => '{"detail":"Invalid"}', /must trust the issuer/],
    ['says something else each time', () => crypto.randomUUID(), /must trust the issuer/],
  ])('%s', async (_, body, words) => {
    const { of } = await verdictsOf(async (request, right, { verify }) => {
      if (!tokenOf(request)) return right(request);
      const isSigned = await verify(tokenOf(request)).then(
        () => true,
        () => false,
      );
      return rejection(401, { 'www-authenticate': 'Bearer' }, body(isSigned));
    });
    expect(of('control')?.got).toMatch(words);
  });
});

test('a worker that ends behind a master is a row of its own, which asks for the log', async () => {
  const { token: mint } = await createTestIssuer();
  const good = await mint();
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const row = /row ([\w-]+)/.exec(request.headers['user-agent'] ?? '')?.[1] ?? '';
    counts.set(row, (counts.get(row) ?? 0) + 1);
    // The worker of the first request ends for another reason.
    const isEnding =
      (row === 'text-dots' && counts.get(row) === 1) || request.headers.authorization === 'Bearer constructor';
    if (isEnding) return void response.destroy();
    const isGood = request.headers.authorization === `Bearer ${good}`;
    response.writeHead(isGood ? 200 : 401, { 'www-authenticate': 'Bearer' }).end(isGood ? '{"a":1}' : '');
  });
  const url = `http://127.0.0.1:${await listen(server)}/`;
  const report = await runProbe({ targets: [url], token: good, only: ['text'] });
  server.close();
  expect(report.warnings.map(({ id, got }) => [id, got])).toEqual([
    ['no-response', 'no response, twice, and then one with a good token: text-object-members'],
  ]);
  expect(report.isComplete).toBe(true);
  expect(report.render(false, 1000)).toMatch(/\nStops serving [^\n]*\nwarning +no-response .*\n.*Read the log/);
});
