import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { freePort, run, untilProcess } from '../support/child-process.ts';
import { installLocked } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';

const [, ...sections] = (await readText('docs/migration/index.md')).split('\n## ');
const rows = sections.flatMap((section) => {
  const [, before] = /^```js\n(.*?)^```$/ms.exec(section) ?? [];
  return before === undefined ? [] : ([[section.split('\n')[0] ?? '', before]] as const);
});

test('docs/migration/index.md has the code before for six libraries', () => expect(rows.length).toBe(6));

test.each(rows)(
  'the code before of %s runs with the library: 401 without a token, 200 with one',
  async (name, code) => {
    const folder = await installLocked('compare', 'settings.mjs');
    const audience = 'https://api.example.com';
    const { issuer, server } = await startServedIssuer({ audience });
    const port = String(await freePort());
    const text = code.replaceAll('https://tenant.example.com/', server.url).replaceAll('3010', port);
    const file = join(folder, `before-${name.replaceAll(/\W/g, '-')}.mjs`);
    await Bun.write(file, text);
    const child = run([nodePath(newestNode), file]);
    const [, path = '/'] = /get\('(\/(?:messages|me))'/.exec(text) ?? [];
    const url = `http://127.0.0.1:${port}${path}`;
    const isUp = async () => (await fetch(url).catch(() => undefined)) !== undefined;
    await untilProcess(child, isUp, `${name} listens`);
    const token = await issuer.token({ sub: 'ada', scope: 'read:messages' }, { header: { typ: 'JWT' } });
    const accepted = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const statuses = [(await fetch(url)).status, accepted.status];
    expect([...statuses, await accepted.text()]).toEqual([401, 200, expect.stringMatching(/^"?ada"?$/i)]);
    await Promise.all([server.close(), child.signal('SIGKILL'), child.finished]);
  },
);
