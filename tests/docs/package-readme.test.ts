import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createGuard } from '../../src/auth/guard.ts';
import manifest from '../../src/auth/package.json';
import { bearer } from '../support/mint.ts';
import { readText } from '../support/repository.ts';
import { blocks, folder, passes } from './blocks.ts';

describe('the README of the package', () => {
  test('has lines for Express that test its application', async () => {
    const [, lines] = /^```js\n(.*?)^```$/ms.exec(await readText('src/auth/README.md')) ?? [];
    const express = blocks.find(({ text }) => text.includes('export function createApp') && text.includes("'express'"));
    const changes: readonly [RegExp, string][] = [
      [
        /^.*'elysia';\n.*'protected-api';$/m,
        `import { once } from 'node:events';\nimport { createApp } from './${express?.file}';`,
      ],
      [/\{ test \}/, '{ after, test }'],
      [/^const createApp = .*?\n\n/ms, ''],
      [/^const app = .*\nconst get = .*\n/m, `${lines}`],
      [/^test\('every route is guarded'.*/ms, ''],
    ];
    const given = blocks.find(({ file }) => file.endsWith('.test.ts'))?.text ?? '';
    for (const [place] of changes) expect(given).toMatch(place);
    const text = changes.reduce((changed, change) => changed.replace(...change), given);
    await Bun.write(join(folder, 'express.test.js'), text);
    await passes('express.test.js');
  });

  test('has a command that gets a token from its development issuer, which a guard accepts', async () => {
    const readme = await readText('src/auth/README.md');
    const [, url = '', data = ''] = /`curl (http:\/\/localhost:3011\S+) ([^`]*)`/.exec(readme) ?? [];
    const block = blocks.find(({ text }) => text.includes('createDevelopmentIssuer('));
    // Its port may be in use, so that nothing listens.
    const text = `${block?.text.replace('Bun.serve(', 'export const server = (')}`;
    await Bun.write(join(folder, 'development-issuer.ts'), text);
    const { issuer, server } = await import(join(folder, 'development-issuer.ts'));
    const body = new URLSearchParams(data.replaceAll('-d ', '').replaceAll(' ', '&'));
    const { access_token: token, scope } = await (
      await server.fetch(new Request(url, { method: 'POST', body }))
    ).json();
    expect(scope).toBe('read:reports');
    const sent = new Request('http://localhost/', { headers: bearer(token) });
    expect(await createGuard(issuer.options).check(sent, { scope })).toMatchObject({ claims: { sub: 'reader' } });
  });

  test('names the tarball that it packs', async () => {
    const readme = await readText('src/auth/README.md');
    expect(readme.match(/protected-api-[\d.]+\.tgz/g)).toEqual([`protected-api-${manifest.version}.tgz`]);
  });
});
