import { beforeAll, describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Environment, run, runToEnd } from '../support/child-process.ts';
import { START_TIMEOUT_MS, startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';

/*
 * The files of docs/start/full-stack.md and docs/start/graphql.md in applications of their frameworks, built and started as their
 * users do, and the traps that these pages name.
 */

const page = await readText('docs/start/full-stack.md');
const sectionOf = (text: string, heading: string) => text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const firstBlock = (text: string) => /^```ts(?: nightly)?\n(.*?)^```$/ms.exec(text)?.[1] ?? '';
const guard = firstBlock(page);

/** A file of the page below its heading: its first path, and its first block. */
const ownFile = (heading: string): Files => {
  const section = sectionOf(page, heading);
  return { [/`([\w./+]+)`/.exec(section)?.[1] ?? '']: firstBlock(section) };
};

type Files = Readonly<Record<string, string>>;
interface Framework {
  /** The heading of its section. */
  readonly name: string;
  readonly path: string;
  /** Where the guard is, what a new application has besides, and files that show a trap. */
  readonly files: Files;
  readonly build: string;
  readonly start: string;
}

const thrown = (text = '') => text.replace('return result;', 'throw result;');
const nuxtRoute = ownFile('Nuxt and Nitro')['server/api/reports.get.ts'];
const astroRoute = ownFile('Astro')['src/pages/api/reports.ts'];
const routerRoute = ownFile('React Router')['app/routes/reports.ts'];
const [, headersLine = ''] = /`(export const headers = .*;)`/.exec(page) ?? [];

const frameworks: readonly Framework[] = [
  {
    name: 'Nuxt and Nitro',
    path: '/api/reports',
    files: {
      'server/utils/guard.ts': guard,
      'app/app.vue': '<template><p>ok</p></template>',
      'nuxt.config.ts': `export default defineNuxtConfig({ telemetry: false, compatibilityDate: '2026-01-01', routeRules: {
        '/api/ruled': { cache: { maxAge: 60 } },
        '/api/varied': { cache: { maxAge: 60, varies: ['authorization'] } },
      } });`,
      'server/api/cached.get.ts': `${nuxtRoute}`.replace('defineEventHandler', 'defineCachedEventHandler'),
      'server/api/ruled.get.ts': 'export default defineEventHandler((event) => event.context.sub);',
      'server/api/varied.get.ts': 'export default defineEventHandler((event) => event.context.sub);',
      'server/middleware/auth.ts': `export default defineEventHandler(async (event) => {
        if (!/ruled|varied/.test(event.path)) return;
        const result = await useGuard().check(toWebRequest(event));
        if (result instanceof Response) return result;
        event.context.sub = result.claims.sub;
      });`,
    },
    build: 'nuxt build',
    start: '.output/server/index.mjs',
  },
  {
    name: 'SvelteKit',
    path: '/reports',
    files: {
      'src/guard.server.ts': guard,
      'src/app.html': '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'vite.config.js': `import adapter from '@sveltejs/adapter-node';
        import { sveltekit } from '@sveltejs/kit/vite';
        export default { plugins: [sveltekit({ adapter: adapter(), experimental: { remoteFunctions: true } })] };`,
      'src/hooks.server.ts': `import { useGuard } from './guard.server.ts';
        export const handle = async ({ event, resolve }) => {
          const result = event.url.pathname.startsWith('/api/') && await useGuard().check(event.request);
          return result instanceof Response ? result : resolve(event);
        };`,
      'src/routes/api/hooked/+server.ts': "export const GET = () => new Response('hooked');",
      'src/routes/data.remote.ts': `import { query } from '$app/server';
        export const secret = query(async () => 'remote');`,
      'src/routes/+page.svelte': `<script>import { secret } from './data.remote.ts';</script>
        <button onclick={() => secret()}>ok</button>`,
      'src/routes/area/+layout.server.ts': `import { error } from '@sveltejs/kit';
        import { useGuard } from '../../guard.server.ts';
        export const load = async ({ request }) => {
          const result = await useGuard().check(request);
          if (result instanceof Response) error(result.status);
        };`,
      'src/routes/area/+page.server.ts': "export const load = () => ({ secret: 'of the area' });",
      'src/routes/area/+page.svelte': '<p>ok</p>',
    },
    build: 'vite build',
    start: 'build/index.js',
  },
  {
    name: 'Astro',
    path: '/api/reports',
    files: {
      'src/guard.ts': guard,
      'src/pages/index.astro': '<p>ok</p>',
      'astro.config.mjs': `import node from '@astrojs/node';
        export default { adapter: node({ mode: 'standalone' }) };`,
      'src/pages/api/prerendered.ts': `${astroRoute}`.replace('export const prerender = false;', ''),
      'src/middleware.ts': `import { useGuard } from './guard.ts';
        export const onRequest = async ({ isPrerendered, request, url }, next) => {
          const result = !isPrerendered && url.pathname.startsWith('/area') && (await useGuard().check(request));
          return result instanceof Response ? result : next();
        };`,
      'src/pages/area/dynamic.astro': '---\nexport const prerender = false;\n---\n<p>of the area</p>',
      'src/pages/area/static.astro': '---\nexport const prerender = true;\n---\n<p>of the area</p>',
    },
    // Without settings, the build would fail at the endpoint that it calls.
    build: 'ISSUER=https://issuer.example.test/ AUDIENCE=api astro build',
    start: 'dist/server/entry.mjs',
  },
  {
    name: 'React Router',
    path: '/reports',
    files: {
      'app/guard.server.ts': guard,
      'app/root.tsx': `import { Outlet } from 'react-router';
        export default () => <html lang="en"><body><Outlet /></body></html>;`,
      'app/routes.ts': `import { route } from '@react-router/dev/routes';
        export default [
          ...['reports', 'page', 'lost'].map((name) => route(name, \`routes/\${name}.ts\`)),
          ...['by-loader', 'by-middleware'].map((name) =>
            route(name, \`routes/\${name}.ts\`, [route('users', 'routes/users.ts', { id: \`\${name}-users\` })]),
          ),
        ];`,
      'vite.config.ts': `import { reactRouter } from '@react-router/dev/vite';
        export default { plugins: [reactRouter()] };`,
      'app/routes/page.ts': `${thrown(routerRoute)}\n${headersLine}\nexport const ErrorBoundary = () => 'no';\nexport default () => 'page';`,
      'app/routes/by-loader.ts': `${thrown(routerRoute)}\nexport { Outlet as default } from 'react-router';`,
      'app/routes/by-middleware.ts': `import { useGuard } from '../guard.server.ts';
        export const middleware = [async ({ request }, next) => {
          const result = await useGuard().check(request);
          return result instanceof Response ? result : next();
        }];
        export { Outlet as default } from 'react-router';`,
      'app/routes/users.ts': `export const loader = () => 'of the area';\nexport default () => 'users';`,
      'app/routes/lost.ts': `${thrown(routerRoute)}\nexport const ErrorBoundary = () => 'no';\nexport default () => 'page';`,
    },
    build: 'react-router build',
    start: 'node_modules/@react-router/serve/bin.cjs build/server/index.js',
  },
];

const folder = startedFor(() => installLocked('nightly/frameworks'));
const node = nodePath(newestNode);
const scope = 'read:reports';

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

  /** What the page says of traps: the path, the token's scope and subject, and the response. */
  const traps: Readonly<Record<string, readonly (readonly [string, string | undefined, string, number, string])[]>> = {
    'Nuxt and Nitro': [
      ['/api/cached', undefined, '', 401, 'missing_token'],
      ['/api/cached', scope, 'ada', 200, '{}'],
      ['/api/ruled', scope, 'ada', 200, 'ada'],
      ['/api/ruled', scope, 'bob', 200, 'ada'],
      ['/api/varied', scope, 'ada', 200, 'ada'],
      ['/api/varied', scope, 'bob', 200, 'bob'],
      ['/api/varied', undefined, '', 401, 'missing_token'],
    ],
    SvelteKit: [
      ['/api/hooked', undefined, '', 401, 'missing_token'],
      ['/api/hooked', '', 'ada', 200, 'hooked'],
      // SvelteKit derives the middle of the path from that of the file.
      ['/_app/remote/q5s0im/secret', undefined, '', 200, 'remote'],
      ['/area', undefined, '', 401, ''],
      ['/area/__data.json', undefined, '', 200, '401'],
      // A client chooses which functions run.
      ['/area/__data.json?x-sveltekit-invalidated=001', undefined, '', 200, 'of the area'],
    ],
    Astro: [
      ['/api/prerendered', scope, 'ada', 200, 'missing_token'],
      ['/area/dynamic', undefined, '', 401, 'missing_token'],
      ['/%61rea/dynamic', undefined, '', 401, 'missing_token'],
      ['/area/static', undefined, '', 200, 'of the area'],
    ],
    'React Router': [
      ['/by-loader/users', undefined, '', 401, ''],
      ['/by-loader/users.data?_routes=by-loader-users', undefined, '', 200, 'of the area'],
      ['/by-middleware/users', undefined, '', 401, 'missing_token'],
      ['/by-middleware/users.data?_routes=by-middleware-users', undefined, '', 401, 'missing_token'],
    ],
  };
  for (const [path, granted, sub, status, said] of traps[framework.name] ?? [])
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

describe.each([
  ['Apollo Server', '.listen(3010)', '.listen(Number(process.env.PORT))', ''],
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
      .replace("'https://tenant.example.com/'", 'String(process.env.ISSUER)')
      .replace("'https://api.example.com'", 'String(process.env.AUDIENCE)');
    await Bun.write(file, `${options}\n${end}\nprocess.stdout.write('Listening');`);
    return run([node, file], environment);
  });

  test.each([
    ['the scope', scope, 200, { data: { me: 'ada', reports: ['tea'] } }],
    ['no scope', '', 200, { data: { me: 'ada', reports: null }, errors: [{ extensions: { code: 'FORBIDDEN' } }] }],
    ['no token', undefined, 401, { error: 'missing_token' }],
  ])('responds to a query with %s', async (_, granted, status, body) => {
    const response = await fixture().service.fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(granted !== undefined && bearer(fixture().mint({ claims: { scope: granted, sub: 'ada' } }))),
      },
      body: JSON.stringify({ query: '{ me reports }' }),
    });
    expect([response.status, await response.json()]).toMatchObject([status, body]);
  });
});
