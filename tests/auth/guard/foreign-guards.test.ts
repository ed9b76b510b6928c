import { describe, expect, test } from 'bun:test';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { resourceMetadata, resourceServer } from '../../../src/auth/elysia.ts';
import * as forFastify from '../../../src/auth/fastify.ts';
import * as forHono from '../../../src/auth/hono.ts';
import * as forAny from '../../../src/auth/index.ts';
import { protectMcp, requireMcp } from '../../../src/auth/mcp.ts';
import { tokenGuard } from '../../../src/auth/nestjs.ts';
import * as forNode from '../../../src/auth/node.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import { root } from '../../support/repository.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A second copy of the package, as a workspace whose peers differ has it. */
const outdir = temporaryFolder('dist');
await Bun.build({
  entrypoints: ['index', 'node'].map((door) => join(root, `src/auth/${door}.ts`)),
  outdir,
  packages: 'external',
  splitting: true,
  target: 'bun',
});
const copy: typeof forAny & typeof forNode = {
  ...(await import(join(outdir, 'index.js'))),
  ...(await import(join(outdir, 'node.js'))),
};

const issuer = await createTestIssuer();
const foreign = copy.createGuard({ ...issuer.options, dpop: 'on', publicUrl: 'https://api.example.test' });

const onlyOwn: Readonly<Record<string, (guard: forAny.Guard) => unknown>> = {
  'resourceServer()': resourceServer,
  'resourceMetadata()': resourceMetadata,
  'describeRejections()': forAny.describeRejections,
  'securitySchemes()': forAny.securitySchemes,
  'issuerMetadata()': forAny.issuerMetadata,
  'protectMcp()': (guard) => protectMcp(guard, {}, () => new Response()),
};

describe('with two copies of the package in one process', () => {
  for (const [name, requireToken, authOf] of [
    ['the guard and requireToken', copy.requireToken, forNode.authOf],
    ['the guard and authOf', forNode.requireToken, copy.authOf],
    ['the guard', forNode.requireToken, forNode.authOf],
  ] as const)
    test(`a request is accepted if ${name} are of the other one, and its proof is used once`, async () => {
      const app = express()
        .use(forNode.requireToken(foreign), requireToken(foreign, { scope: 'read:messages' }))
        .get('/', (request, response) => void response.end(authOf(request).claims.sub));
      const server = app.listen(0, '127.0.0.1');
      const token = await issuer.token({ sub: 'ada', scope: 'read:messages' }, { boundTo: 'dpop' });
      const dpop = await issuer.proof({ method: 'GET', url: 'https://api.example.test/' }, token);
      const send = () =>
        fetch(`http://127.0.0.1:${Object(server.address()).port}`, {
          headers: { authorization: `DPoP ${token}`, dpop },
        });
      expect(await (await send()).text()).toBe('ada');
      expect((await send()).status).toBe(401);
      server.close();
    });

  test('instanceof RejectionError is true for that of the other one, and for nothing that looks like one', async () => {
    const thrown = await foreign.requireToken(new Request('http://localhost/')).catch((error: unknown) => error);
    class Own extends forAny.RejectionError {}
    expect(thrown).toBeInstanceOf(forAny.RejectionError);
    expect(thrown).toBeInstanceOf(copy.RejectionError);
    expect(thrown).not.toBeInstanceOf(Own);
    for (const other of [
      new Error('RejectionError'),
      { ...Object(thrown) },
      Object.create(forAny.RejectionError.prototype),
      null,
    ])
      expect(other).not.toBeInstanceOf(forAny.RejectionError);
  });

  test.each(Object.entries(onlyOwn))('%s says that the guard is of the other one', async (_, use) =>
    expect(async () => use(foreign)).toThrow(
      'another copy of protected-api has created it. Create it again after a hot reload',
    ),
  );
});

describe('a guard that a test has written by hand', () => {
  const auth = { claims: { iss: 'a', exp: 1 }, token: 'a', clientId: undefined, scopes: [] };
  const state = { issuers: [], cacheHits: 0, cacheEntries: 0 };
  const nothing = () => undefined;
  const byHand: forAny.Guard = {
    ...{ requireToken: async () => auth, check: async () => auth, metadata: nothing },
    ...{ start: nothing, stop: nothing, reload: async () => state, state: () => state },
  };
  const { requireToken, check } = byHand;
  const everywhere: Readonly<Record<string, (guard: forAny.Guard) => unknown>> = {
    ...onlyOwn,
    'requireToken() for Node.js': forNode.requireToken,
    'serveMetadata()': forNode.serveMetadata,
    'checkIncoming()': (guard) => forNode.checkIncoming(guard, new IncomingMessage(new Socket())),
    'requireToken() for Hono': forHono.requireToken,
    'requireToken() for Fastify': forFastify.requireToken,
    'tokenGuard()': tokenGuard,
    'requireMcp()': (guard) => requireMcp(guard, {}),
  };

  test.each(Object.entries(everywhere))('is rejected by %s, which names createTestIssuer', async (_, use) => {
    for (const guard of [byHand, { requireToken }, { check }] as forAny.Guard[])
      expect(async () => use(guard)).toThrow(
        expect.objectContaining({ name: 'TypeError', message: expect.stringContaining('createTestIssuer()') }),
      );
  });
});
