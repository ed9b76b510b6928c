import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnyElysia } from 'elysia';
import manifest from '../../package.json';
import { createGuard } from '../../src/auth/guard.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { freePort, run, untilReachable } from '../support/child-process.ts';

const root = join(import.meta.dir, '../..');
const pages = ['README.md', 'docs/guard.md', 'docs/dpop.md', 'MIGRATION.md'];

interface Block {
  /** The file that a test writes it to. */
  readonly file: string;
  readonly heading: string;
  readonly text: string;
}

/** Returns the TypeScript blocks of a page. Those of a page have names that count up. */
async function blocksOf(page: string): Promise<readonly Block[]> {
  const sections = (await Bun.file(join(root, page)).text()).split(/^#+ /m).slice(1);
  const blocks = sections.flatMap((section) =>
    [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => ({
      heading: section.split('\n')[0] ?? '',
      text,
    })),
  );
  const name = page.replace(/\W+/g, '-').toLowerCase();
  return blocks.map((block, index) => {
    const isTest = block.text.includes("from 'bun:test'");
    return { ...block, file: `${name}-${index}${isTest ? '.test' : ''}.ts` };
  });
}

const blocks = (await Promise.all(pages.map(blocksOf))).flat();
const issuer = await createTestIssuer();
let folder: string;

beforeAll(async () => {
  await mkdir(join(root, 'dist'), { recursive: true });
  folder = await mkdtemp(join(root, 'dist/blocks-'));
  // No test looks up a name: nothing listens at this address.
  for (const { file, text } of blocks)
    await Bun.write(join(folder, file), text.replaceAll('https://tenant.example.com/', 'http://127.0.0.1:1/'));
  await Bun.write(join(folder, 'options.ts'), `export const options = ${JSON.stringify(issuer.options)};`);
  const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false };
  await Bun.write(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Row {
  readonly heading: string;
  readonly path: string;
  readonly claims?: object;
  readonly init?: RequestInit;
  readonly expected: readonly [status: number, body: string];
}

const now = () => Math.floor(Date.now() / 1000);
const rows: readonly Row[] = [
  {
    heading: 'Roles',
    path: '/orders',
    claims: { resource_access: { 'my-api': { roles: ['admin'] } } },
    expected: [200, 'orders'],
  },
  { heading: 'Roles', path: '/orders', claims: { scope: 'other' }, expected: [403, 'insufficient_scope'] },
  {
    heading: 'The scope depends on the request',
    path: '/tools/a',
    claims: { scope: 'tool:a' },
    expected: [200, 'a'],
  },
  {
    heading: 'The scope depends on the request',
    path: '/tools/b',
    claims: { scope: 'tool:a' },
    expected: [403, 'insufficient_scope'],
  },
  {
    heading: 'The scope depends on the request',
    path: '/reports',
    claims: { scope: 'admin' },
    expected: [200, 'reports'],
  },
  { heading: 'The owner of a resource', path: '/orders/1', claims: { sub: 'ada' }, expected: [200, '1'] },
  { heading: 'The owner of a resource', path: '/orders/2', claims: { sub: 'ada' }, expected: [403, 'Unauthorized'] },
  {
    heading: 'The owner of a resource',
    path: '/orders/1',
    claims: { sub: 'ada' },
    init: { method: 'PUT', body: '{"item":"tea"}' },
    expected: [200, 'tea'],
  },
  { heading: 'A token is optional', path: '/news', expected: [200, 'for everyone'] },
  { heading: 'A token is optional', path: '/news', claims: { sub: 'ada' }, expected: [200, 'for ada'] },
  { heading: 'A token is optional', path: '/drafts', expected: [401, 'scope="write:news"'] },
  { heading: 'Typed claims', path: '/seats', claims: { tenant: 'x' }, expected: [200, 'x: 2'] },
  { heading: 'Typed claims', path: '/seats', claims: { tenant: 1 }, expected: [401, 'invalid_claims'] },
  { heading: 'Revocation', path: '/me', claims: { sub: 'ada', sid: 1 }, expected: [200, 'ada'] },
  {
    heading: 'Step-up',
    path: '/payments',
    claims: { acr: 'phr', auth_time: now() },
    init: { method: 'POST' },
    expected: [200, 'paid'],
  },
  {
    heading: 'Step-up',
    path: '/payments',
    claims: { acr: 'phr', auth_time: 1 },
    init: { method: 'POST' },
    expected: [401, 'acr_values="phr phrh", max_age="300"'],
  },
  { heading: 'Certificate-bound tokens', path: '/me', claims: { sub: 'ada' }, expected: [200, 'ada'] },
  {
    heading: 'Certificate-bound tokens',
    path: '/me',
    claims: { cnf: { 'x5t#S256': 'A'.repeat(43) } },
    expected: [401, 'invalid_token'],
  },
  { heading: 'WebSockets', path: '/events', init: { headers: { upgrade: 'websocket' } }, expected: [401, 'Bearer'] },
  {
    heading: 'One guard for several instances, and readiness',
    path: '/reports/',
    claims: {},
    expected: [200, 'reports'],
  },
  { heading: 'One guard for several instances, and readiness', path: '/orders/', expected: [401, 'Bearer'] },
  { heading: 'One guard for several instances, and readiness', path: '/ready', expected: [200, 'ready'] },
  { heading: 'An error format of your own', path: '/me', expected: [401, 'application/problem+json'] },
  { heading: 'OpenTelemetry', path: '/me', claims: { sub: 'ada' }, expected: [200, 'ada'] },
  {
    heading: 'Model Context Protocol',
    path: '/mcp',
    init: { method: 'POST' },
    expected: [401, 'https://api.example.com/.well-known/oauth-protected-resource/mcp'],
  },
  {
    heading: 'Model Context Protocol',
    path: '/.well-known/oauth-protected-resource/mcp',
    expected: [200, '"scopes_supported":["mcp:tools"]'],
  },
  { heading: 'Typed clients', path: '/orders', claims: { scope: 'read:orders' }, expected: [200, '["tea"]'] },
  { heading: 'In an Elysia application', path: '/orders/', expected: [401, 'scope="read:orders"'] },
  { heading: 'In an Elysia application', path: '/orders/of/ada', expected: [401, 'Bearer'] },
  { heading: 'In an Elysia application', path: '/news', expected: [200, 'Hello everyone'] },
  { heading: 'In your application', path: '/me', expected: [401, 'DPoP algs="ES256 PS256 EdDSA"'] },
];

async function send(file: string, { path, claims, init }: Row): Promise<string> {
  const { app }: { readonly app: AnyElysia } = await import(join(folder, file));
  const headers = new Headers(init?.headers);
  if (claims) headers.set('authorization', `Bearer ${await issuer.token({ ...claims })}`);
  if (init?.body) headers.set('content-type', 'application/json');
  const response = await app.handle(new Request(`http://localhost${path}`, { ...init, headers }));
  const said = [response.headers.get('content-type'), response.headers.get('www-authenticate'), await response.text()];
  return `${response.status} ${said.join(' ')}`;
}

describe('the TypeScript blocks of the documentation', () => {
  test('compile', async () => {
    const tsc = Bun.spawn([process.execPath, 'x', 'tsc', '--noEmit', '-p', folder], { stdout: 'pipe' });
    const errors = await tsc.stdout.text();
    expect(errors).toBe('');
  }, 120_000);

  test.each(blocks.filter(({ file }) => file.endsWith('.test.ts')))('pass as tests: $file', async ({ file }) => {
    const child = Bun.spawn([process.execPath, 'test', join(folder, file)], { cwd: root, stderr: 'pipe' });
    expect(await child.stderr.text()).toContain(' 0 fail');
    expect(await child.exited).toBe(0);
  });

  for (const row of rows) {
    test(`${row.heading}: ${row.init?.method ?? 'GET'} ${row.path}${row.claims ? ' with a token' : ''} is ${row.expected[0]}`, async () => {
      const [status, part] = row.expected;
      const block = blocks.find(({ heading, text }) => heading === row.heading && text.includes('export const app'));
      const said = await send(block?.file ?? '', row);
      expect(said).toStartWith(String(status));
      expect(said).toContain(part);
    });
  }

  test('In any fetch server: the function answers without a token with the scope in the challenge', async () => {
    const block = blocks.find(({ text }) => text.includes('export async function fetch'));
    const response: Response = await (await import(join(folder, block?.file ?? ''))).fetch(
      new Request('http://localhost/'),
    );
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer scope="read:reports"');
  });

  test('Test your application: the development issuer gives the command of the README a token that its guard accepts', async () => {
    const readme = await Bun.file(join(root, 'README.md')).text();
    const port = String(await freePort());
    const [, command = ''] = /`(curl http:\/\/localhost:3011[^`]*)`/.exec(readme) ?? [];
    const block = blocks.find(({ text }) => text.includes('createDevelopmentIssuer('));
    const text = `${block?.text.replaceAll('3011', port)}\nconsole.log(JSON.stringify(issuer.options));`;
    await Bun.write(join(folder, 'development-issuer.ts'), text);
    const child = run([process.execPath, join(folder, 'development-issuer.ts')], {});
    try {
      await untilReachable(`http://localhost:${port}/.well-known/jwks.json`, child);
      const asked = Bun.spawnSync(['sh', '-c', command.replaceAll('3011', port)]);
      const { access_token: token, scope } = JSON.parse(asked.stdout.toString());
      expect(scope).toBe('read:reports');
      const guard = createGuard(JSON.parse(child.stdout()));
      const headers = { authorization: `Bearer ${token}` };
      expect(await guard.check(new Request('http://localhost/', { headers }), { scope })).toMatchObject({
        claims: { sub: 'reader' },
      });
    } finally {
      child.signal('SIGTERM');
      await child.finished;
    }
  });

  test('that are applications are all run', () => {
    const applications = blocks.filter(({ text }) => text.includes('export const app'));
    expect(rows.map(({ heading }) => heading)).toEqual(
      expect.arrayContaining(applications.map(({ heading }) => heading)),
    );
  });
});

test('the README names the tarball that it packs, and has at most 220 lines', async () => {
  const readme = await Bun.file(join(root, 'README.md')).text();
  expect(readme.match(/protected-api-[\d.]+\.tgz/g)).toEqual([`protected-api-${manifest.version}.tgz`]);
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(220);
});
