import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { run } from '../support/child-process.ts';
import { START_TIMEOUT_MS, startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { firstBlock, scope, sectionOf } from './frameworks/applications.ts';

/* The files of docs/start/graphql.md, with the tarball and the real servers. */

const folder = startedFor(() => installLocked('nightly/frameworks'));
const node = nodePath(newestNode);

describe.each([
  ['Apollo Server', '.listen(3010, ', '.listen(Number(process.env.PORT), ', ''],
  ['Mercurius', 'port: 3010', 'port: Number(process.env.PORT)', ''],
  [
    'GraphQL Yoga',
    'export async function fetch',
    'async function fetch',
    `import { createServerAdapter } from '@whatwg-node/server';
     import { createServer } from 'node:http';
     createServer(createServerAdapter(fetch)).listen(Number(process.env.PORT));`,
  ],
])('docs/start/graphql.md: %s', (name, line, changed, end) => {
  let text = '';
  beforeAll(async () => {
    const block = firstBlock(sectionOf(await readText('docs/start/graphql.md'), name));
    text = block.replace(line, changed);
    expect(text).not.toBe(block);
  }, START_TIMEOUT_MS);
  const fixture = exampleFixture(name, async (environment) => {
    const file = join(folder(), `${name.replaceAll(' ', '')}.ts`);
    const options = text
      .replace("'http://localhost:4010/'", 'String(process.env.ISSUER)')
      .replace("'https://api.example.com'", 'String(process.env.AUDIENCE)');
    await Bun.write(file, `${options}\n${end}\nprocess.stdout.write('Listening');`);
    return run([node, file], environment);
  });

  test.each([
    ['the scope', scope, 200, { data: { me: 'ada', messages: ['tea'] } }],
    ['no scope', '', 200, { data: { me: 'ada', messages: null }, errors: [{ extensions: { code: 'FORBIDDEN' } }] }],
    ['no token', undefined, 401, { error: 'missing_token' }],
  ])('responds to a query with %s', async (_, granted, status, body) => {
    const response = await fixture().service.fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(granted !== undefined && bearer(fixture().mint({ claims: { scope: granted, sub: 'ada' } }))),
      },
      body: JSON.stringify({ query: '{ me messages }' }),
    });
    expect([response.status, await response.json()]).toMatchObject([status, body]);
  });
});
