import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, run, runToEnd, until } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { firstBlock, sectionOf } from './frameworks/applications.ts';

/* The documents that the Swagger of Fastify and of NestJS makes of the blocks of docs/guides/openapi.md. */

interface Document {
  readonly paths: {
    readonly '/orders': { readonly get: { readonly responses: Record<string, unknown>; readonly security: unknown } };
  };
}

const folder = startedFor(() => installLocked('nightly/frameworks'));
const node = nodePath(newestNode);
const options = '--module nodenext --target es2023 --strict --skipLibCheck --experimentalDecorators';

test.each([
  ['Fastify', '/openapi.json'],
  ['NestJS', '/openapi-json'],
])('docs/guides/openapi.md: the document of %s has the rejections of its route', async (name, path) => {
  const port = String(await freePort());
  const block = firstBlock(sectionOf(await readText('docs/guides/openapi.md'), name));
  await Bun.write(join(folder(), `${name}.ts`), block.replace('3010', port));
  const compile = `cd ${folder()} && bunx --package typescript@5.9.3 tsc ${options} ${name}.ts`;
  const compiled = await runToEnd(['bash', '-c', compile]);
  expect(compiled.stdout).toBe('');
  const server = run([node, join(folder(), `${name}.js`)]);
  const get = (url: string) => fetch(`http://localhost:${port}${url}`);
  await until(
    () =>
      get(path).then(
        ({ ok }) => ok,
        () => false,
      ),
    `the document of ${name}`,
  );
  const document = (await (await get(path)).json()) as Document;
  const { responses, security } = document.paths['/orders'].get;
  expect(Object.keys(responses)).toEqual(['200', '400', '401', '403', '503']);
  expect(security).toEqual([{ bearer: ['read:orders'] }]);
  expect(JSON.stringify(responses['403'])).toContain('insufficient_scope');
  expect((await get('/orders')).headers.get('www-authenticate')).toBe('Bearer scope="read:orders"');
  server.signal('SIGKILL');
  await server.finished;
});
