import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Environment, run, runToEnd } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { rawGet } from '../support/raw-http.ts';
import { type Framework, frameworks, ownFile, scope } from './frameworks/applications.ts';

/* The files of docs/start/full-stack.md in applications of their frameworks, built and started as their users do. */

const folder = startedFor(() => installLocked('nightly/frameworks'));
const node = nodePath(newestNode);

/** Writes an application into a folder of its own, builds it without settings, and starts it. */
async function started({ name, files, posted, build, start }: Framework, environment: Environment) {
  const own = join(folder(), name.replaceAll(/\W/g, ''));
  // React Router looks for this package in the list of the application's own.
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: { isbot: '5' } });
  for (const [path, text] of Object.entries({ 'package.json': manifest, ...files, ...posted, ...ownFile(name) }))
    await Bun.write(join(own, path), text);
  const path = `${dirname(node)}:${join(folder(), 'node_modules/.bin')}:${process.env.PATH}`;
  const silent = { PATH: path, HOME: own, ASTRO_TELEMETRY_DISABLED: '1', NODE_PATH: join(folder(), 'node_modules') };
  const built = await runToEnd(['bash', '-c', `cd ${own} && ${build}`], silent);
  expect(built.status, built.stdout + built.stderr).toBe(0);
  const command = start.replace('node_modules', join(folder(), 'node_modules'));
  return run(['bash', '-c', `cd ${own} && exec node ${command}`], {
    ...silent,
    HOST: '127.0.0.1',
    ORIGIN: `http://127.0.0.1:${environment.PORT}`,
    ...environment,
  });
}

type Posted = readonly [what: string, kind: string, body: () => string | ReadableStream, type: string, read: object];

describe.each(frameworks)('docs/start/full-stack.md: $name', (framework) => {
  const fixture = exampleFixture(framework.name, (environment) => started(framework, environment));
  const get = (path: string, granted?: string, sub = 'ada') =>
    fixture().service.fetch(path, {
      headers: {
        // By which a client of SvelteKit chooses the path that a remote function gets.
        'x-sveltekit-pathname': '/',
        ...(granted === undefined ? {} : bearer(fixture().mint({ claims: { scope: granted, sub } }))),
      },
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

  test('a rejection has its body, and prints at most a line', async () => {
    const { service } = fixture();
    const before = service.output().split('\n').length;
    for (let request = 0; request < 20; request++)
      expect(await (await get(framework.path)).json()).toMatchObject({ error: 'missing_token' });
    expect(service.output().split('\n').length - before).toBeLessThan(30);
  });

  // A token that the guard has not seen is verified after a pause, in which a framework may lose the body.
  test.each([
    ['JSON', 'json', () => JSON.stringify({ a: '1' }), 'application/json', { a: '1' }],
    ['a form', 'form', () => 'a=1', 'application/x-www-form-urlencoded', { a: '1' }],
    ['a stream', 'stream', () => new Blob(['x'.repeat(300_000)]).stream(), 'text/x-log', { length: 300_000 }],
  ] as const satisfies readonly Posted[])(
    'a route that has checked a new token reads %s',
    async (_, kind, body, type, read) => {
      const { service, mint } = fixture();
      for (const sub of ['ada', 'bob', 'eve']) {
        const token = mint({ claims: { scope, sub, jti: `${kind} ${sub}` } });
        const response = await service.fetch(`${framework.path.replace('messages', 'posted')}?kind=${kind}`, {
          method: 'POST',
          headers: { ...bearer(token), 'content-type': type, origin: service.origin },
          body: body(),
          signal: AbortSignal.timeout(20_000),
        });
        const text = await response.text();
        expect([response.status, text]).toEqual([200, JSON.stringify(read)]);
      }
    },
  );

  test('the first of two Authorization headers counts', async () => {
    const { service, mint } = fixture();
    const lines = [mint({ claims: { scope, sub: 'ada' } }), 'garbage'].map((token) => `Authorization: Bearer ${token}`);
    expect((await rawGet(service.origin, framework.path, lines)).status).toBe(200);
    expect((await rawGet(service.origin, framework.path, lines.toReversed())).status).toBe(401);
  });

  for (const [path, granted, sub, status, said] of framework.traps)
    test(`responds at ${path} to ${sub || 'a stranger'} with ${status} and ${said}`, async () => {
      const response = await get(path, granted, sub);
      expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(said)]);
    });

  if (framework.name === 'Astro')
    test('runs an action at a path of its own', async () => {
      const { service } = fixture();
      const headers = { 'content-type': 'application/json', origin: service.origin };
      const response = await service.fetch('/_actions/secret', { method: 'POST', headers, body: '{}' });
      expect([response.status, await response.text()]).toEqual([200, '["of the action"]']);
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
