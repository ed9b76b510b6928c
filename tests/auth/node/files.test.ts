import { afterAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { join } from 'node:path';
import express, { type Express } from 'express';
import { createGuard } from 'protected-api';
import { requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { bearer } from '../../support/mint.ts';
import { listen, rawRequest } from '../../support/raw-http.ts';
import { spellings } from '../../support/spellings.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/* What docs/guides/paths.md says of Express. By night, path-traps.nightly.ts has the other frameworks. */

const issuer = await createTestIssuer();
const check = requireToken(createGuard(issuer.options));
const folder = temporaryFolder();
for (const file of ['files/admin/x.txt', 'private/x.txt']) await Bun.write(join(folder, file), 'secret');

const close: (() => void)[] = [];
afterAll(() => {
  for (const each of close) each();
});
async function serving(app: Express) {
  const server = createServer(app);
  close.push(() => server.close());
  const origin = `http://127.0.0.1:${await listen(server)}`;
  return async (target: string, headers: readonly string[] = []) => {
    const lines = [`GET ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers];
    return (await (await rawRequest(origin, lines)).text()).includes('secret');
  };
}

describe('files behind a guard of the path /admin', () => {
  test('are served to strangers by a server of files at the root', async () => {
    const isServed = await serving(
      express()
        .use('/admin', check)
        .use(express.static(join(folder, 'files'))),
    );
    expect([await isServed('/admin/x.txt'), await isServed('//admin/x.txt')]).toEqual([false, true]);
  });

  test('are served to nobody without a token from a folder of their own', async () => {
    const isServed = await serving(express().use('/admin', check, express.static(join(folder, 'private'))));
    for (const target of spellings) expect([target, await isServed(target)]).toEqual([target, false]);
    const { authorization } = bearer(await issuer.token());
    expect(await isServed('/admin/x.txt', [`Authorization: ${authorization}`])).toBe(true);
  });
});
