import { describe, expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { until } from '../support/child-process.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

type Line = Record<string, unknown>;

const linesOf = (output: string): Line[] =>
  output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

for (const form of [sourceForm, executableForm]) {
  describe(`log of ${form.name}`, () => {
    test(
      'says in JSON lines how it started, what became of the keys and that it stopped',
      async () => {
        const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
        const service = await form.start({ ISSUER: issuer.url, AUDIENCE });
        await until(() => service.output().includes('Key set fetched'), 'keys are held');
        await service.close();
        await issuer.close();
        expect(linesOf(service.output())).toMatchObject([
          {
            level: 'info',
            msg: 'Listening',
            version: packageJson.version,
            port: expect.any(Number),
            issuer: [issuer.url],
          },
          { level: 'info', msg: 'Key set fetched', added: [SIGNING_KID], removed: [] },
          { level: 'info', msg: 'Shutting down', signal: 'SIGTERM' },
          { level: 'info', msg: 'Stopped' },
        ]);
      },
      form.startTimeoutMs,
    );

    test(
      'says in JSON lines, and nothing beside them, that a key set is compressed, even if what it holds is not',
      async () => {
        const issuers = Bun.serve({
          port: 0,
          hostname: '127.0.0.1',
          fetch: ({ url }) =>
            new Response('not compressed', {
              headers: { 'content-encoding': new URL(url).pathname.split('/')[1] ?? '' },
            }),
        });
        const issuer = ['gzip', 'deflate', 'br', 'zstd'].map((encoding) => new URL(`${encoding}/`, issuers.url).href);
        const service = await form.start({ ISSUER: issuer.join(), AUDIENCE });
        await until(() => service.output().split('encoded').length > issuer.length, 'all have failed');
        await service.close();
        await issuers.stop(true);
        const lines = linesOf(service.output());
        for (const one of issuer)
          expect(lines).toContainEqual(expect.objectContaining({ issuer: one, failure: 'encoded' }));
      },
      form.startTimeoutMs,
    );

    test(
      'has a line for each request with LOG_LEVEL=debug, whose id is given back',
      async () => {
        const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
        const service = await form.start({ ISSUER: issuer.url, AUDIENCE, LOG_LEVEL: 'debug' });
        const token = mintToken(issuer.url, { claims: { sub: 'someone', client_id: 'some-client' } });
        const headers = { authorization: `Bearer ${token}`, 'x-request-id': 'given-1' };
        const given = await service.fetch('/api/private?query=1', { headers });
        const made = await service.fetch('/nothing');
        await service.close();
        await issuer.close();
        expect(given.headers.get('x-request-id')).toBe('given-1');
        const madeId = made.headers.get('x-request-id');
        expect(madeId).toMatch(/^[0-9a-f-]{36}$/);
        const lines = linesOf(service.output());
        expect(lines).toContainEqual(
          expect.objectContaining({
            level: 'debug',
            requestId: 'given-1',
            method: 'GET',
            route: '/api/private',
            status: 200,
            durationMs: expect.any(Number),
            outcome: 'accepted',
            sub: 'someone',
            client_id: 'some-client',
          }),
        );
        expect(lines).toContainEqual(expect.objectContaining({ requestId: madeId, route: 'unmatched', status: 404 }));
        expect(lines).toContainEqual(
          expect.objectContaining({
            msg: 'Settings',
            issuer: [issuer.url],
            audience: [AUDIENCE],
            tokenCacheSize: 10000,
          }),
        );
      },
      form.startTimeoutMs,
    );

    test(
      'cuts a request id to 64 characters that mean nothing to a terminal, at any level',
      async () => {
        const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
        const service = await form.start({ ISSUER: issuer.url, AUDIENCE });
        for (const [sent, echoed] of [
          ['a'.repeat(100), 'a'.repeat(64)],
          ['a b"c\u00e9<d>', 'abcd'],
          ['"";', null],
        ] as const) {
          const response = await service.fetch('/api/public', { headers: { 'x-request-id': sent } });
          expect(response.headers.get('x-request-id')).toBe(echoed);
        }
        await service.close();
        await issuer.close();
      },
      form.startTimeoutMs,
    );
  });
}
