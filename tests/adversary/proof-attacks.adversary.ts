import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import fc from 'fast-check';
import { resourceServer } from '../../src/auth/index.ts';
import { createProofVerifier } from '../../src/auth/proof/proof.ts';
import { createMemoryReplayStore } from '../../src/auth/proof/replay-store.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, nowSeconds, SIGNING_KID } from '../support/mint.ts';
import { makeProof, proofKey, thumbprintOf } from '../support/proof.ts';
import { rawRequest } from '../support/raw-http.ts';
import { propertyTimeoutMs, tokens } from './run.ts';

const numRuns = tokens / 20;
const publicUrl = 'https://api.example.test';
const bound = { cnf: { jkt: thumbprintOf(proofKey()) } };

describe('an Elysia application with DPoP', () => {
  let issuer: Issuer;
  let token: string;
  const served: string[] = [];
  const createApp = () =>
    new Elysia()
      .use(resourceServer({ issuer: issuer.url, audience: AUDIENCE, dpop: 'required', publicUrl }))
      .onAfterHandle(({ path, request }) => void served.push(`${request.method} ${path}`))
      .get('/', () => 'SECRET')
      .get('/reports', () => 'SECRET')
      .delete('/reports', () => 'SECRET')
      .get('/long/path/reports', () => 'SECRET')
      .listen({ port: 0, hostname: '127.0.0.1' });
  let app: ReturnType<typeof createApp>;

  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    token = mintToken(issuer.url, { claims: bound });
    app = createApp();
  });
  afterAll(async () => {
    await app.stop(true);
    await issuer.close();
  });

  const proofFor = (path: string, method = 'GET') =>
    makeProof({ url: publicUrl + path, token, nowSeconds: nowSeconds() }, { claims: { htm: method } });
  const send = async (line: string, host: string | undefined, dpop: string) => {
    const hosts = host === undefined ? [] : [`Host: ${host}`];
    const headers = [...hosts, `Authorization: DPoP ${token}`, `DPoP: ${dpop}`, 'Connection: close'];
    const answer = await rawRequest(`http://127.0.0.1:${app.server?.port}`, [line, ...headers]);
    return answer.status;
  };

  test('accepts a proof for the address', async () => {
    expect(await send('GET /reports HTTP/1.1', 'localhost', proofFor('/reports'))).toBe(200);
  });

  const hosts = ['api.example#', 'x/', 'u@h', 'a b', '[', 'api.example?', '', undefined];
  for (const host of hosts) {
    test(`accepts no proof for another address with the Host ${JSON.stringify(host)}`, async () => {
      served.length = 0;
      for (const version of ['1.1', '1.0'])
        for (const [method, path] of [
          ['GET', '/reports'],
          ['DELETE', '/reports'],
          ['GET', '/long/path/reports'],
        ] as const)
          for (const proven of ['', '/', '/other', `//reports`, ...(path === '/reports' ? [] : ['/reports'])])
            await send(`${method} ${path} HTTP/${version}`, host, proofFor(proven, method));
      expect(served).toEqual([]);
    });
  }
});

test(
  'no order of uses, pauses and clocks that are set lets a proof in twice',
  async () => {
    const token = 'header.payload.signature';
    const startSeconds = 1_900_000_000;
    const target = { url: `${publicUrl}/`, token };
    // The last ones are dated ahead as far as allowed.
    const proofs = [-60, 0, 1, 60, 120].map((seconds) => makeProof({ ...target, nowSeconds: startSeconds + seconds }));
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          use: fc.nat(proofs.length - 1),
          pausedCall: fc.constantFrom(3, 4),
          pauseMs: fc.constantFrom(0, 0, 0, 31_000, 151_000),
        }),
      },
      fc.record({
        moveMs: fc.constantFrom(1, 999, 30_000, 60_000, 90_000, 120_000, 150_000, -1000, -60_000, -151_000),
      }),
    );
    let uses = 0;
    const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 20 }), async (steps) => {
      let nowMs = startSeconds * 1000;
      const replayStore = createMemoryReplayStore({ now: () => nowMs });
      const accepted = proofs.map(() => 0);
      for (const one of steps) {
        if ('moveMs' in one) {
          nowMs += one.moveMs;
          continue;
        }
        // Two parallel uses: the process is paused before the first of them is marked, or before the second.
        let calls = 0;
        const now = () => {
          calls += 1;
          if (calls === one.pausedCall) nowMs += one.pauseMs;
          return nowMs;
        };
        const verify = createProofVerifier({ publicUrl, replayStore, now });
        const judge = () => {
          const headers = new Headers({ dpop: proofs[one.use] ?? '' });
          return verify({ method: 'GET', url: target.url, headers }, token, thumbprintOf(proofKey()));
        };
        for (const refusal of await Promise.all([judge(), judge()]))
          if (refusal === undefined) accepted[one.use] = (accepted[one.use] ?? 0) + 1;
      }
      expect(Math.max(...accepted)).toBeLessThanOrEqual(1);
      uses += accepted.reduce((sum, times) => sum + times, 0);
    });
    await fc.assert(property, { numRuns });
    // A store that lets nothing in would hold.
    expect(uses).toBeGreaterThan(numRuns / 2);
  },
  propertyTimeoutMs,
);
