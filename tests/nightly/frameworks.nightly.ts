import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Environment, run, runToEnd } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { type Framework, frameworks, ownFile, scope } from './frameworks/applications.ts';

/* The files of docs/start/full-stack.md in applications of their frameworks, built and started as their users do. */

const folder = startedFor(() => installLocked('nightly/frameworks'));
const node = nodePath(newestNode);

/** Writes an application into a folder of its own, builds it without settings, and starts it. */
async function started({ name, files, build, start }: Framework, environment: Environment) {
  const own = join(folder(), name.replaceAll(/\W/g, ''));
  // React Router looks for this package in the list of the application's own.
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: { isbot: '5' } });
  for (const [path, text] of Object.entries({ 'package.json': manifest, ...files, ...ownFile(name) }))
    await Bun.write(join(own, path), text);
  const path = `${dirname(node)}:${join(folder(), 'node_modules/.bin')}:${process.env.PATH}`;
  const silent = { PATH: path, HOME: own, ASTRO_TELEMETRY_DISABLED: '1', NODE_PATH: join(folder(), 'node_modules') };
  const built = await runToEnd(['bash', '-c', `cd ${own} && ${build}`], silent);
  expect(built.status, built.stdout + built.stderr).toBe(0);
  const command = start.replace('node_modules', join(folder(), 'node_modules'));
  return run(['bash', '-c', `cd ${own} && exec node ${command}`], { ...silent, HOST: '127.0.0.1', ...environment });
}

describe.each(frameworks)('docs/start/full-stack.md: $name', (framework) => {
  const fixture = exampleFixture(framework.name, (environment) => started(framework, environment));
  const get = (path: string, granted?: string, sub = 'ada') =>
    fixture().service.fetch(path, {
      headers: granted === undefined ? {} : bearer(fixture().mint({ claims: { scope: granted, sub } })),
    });

  test.each([
    ['no token', undefined, 401, `Bearer scope="${scope}"`],
    ['no scope', '', 403, 'error="insufficient_scope"'],
    ['the scope', scope, 200, ''],
  ])('responds to a request with %s', async (_, granted, status, challenge) => {
    const response = await get(framework.path, granted);
    expect([response.status, response.headers.get('www-authenticate') ?? '']).toEqual([
      status,
      expect.stringContaining(challenge),
    ]);
    if (status === 200) expect(await response.json()).toEqual({ hello: 'ada' });
  });

  for (const [path, granted, sub, status, said] of framework.traps)
    test(`responds at ${path} to ${sub || 'a stranger'} with ${status} and ${said}`, async () => {
      const response = await get(path, granted, sub);
      expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(said)]);
    });

  if (framework.name === 'React Router')
    test.each([
      ['/page', true],
      ['/lost', false],
    ])('the challenge of the page %s arrives: %p', async (path, arrives) => {
      const { status, headers } = await get(path);
      expect([status, headers.has('www-authenticate')]).toEqual([401, arrives]);
    });
});
