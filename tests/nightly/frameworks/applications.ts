import { readText } from '../../support/repository.ts';

/*
 * The applications of frameworks.nightly.ts: the files of docs/start/full-stack.md, what a new application has besides,
 * and traps.
 */

export const scope = 'read:messages';
const page = await readText('docs/start/full-stack.md');
export const sectionOf = (text: string, heading: string) => text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const blocksOf = (text: string) =>
  Array.from(text.matchAll(/^```ts(?: nightly)?\n(.*?)^```$/gms), ([, code = '']) => code);
export const firstBlock = (text: string) => blocksOf(text)[0] ?? '';
const guard = firstBlock(page);

/** A file of the page below its heading: its first path, and its first block. */
export const ownFile = (heading: string): Files => {
  const section = sectionOf(page, heading);
  return { [/`([\w./+]+)`/.exec(section)?.[1] ?? '']: firstBlock(section) };
};

export type Files = Readonly<Record<string, string>>;
export interface Framework {
  /** The heading of its section. */
  readonly name: string;
  readonly path: string;
  /** A route that checks the token as the page does, and then reads the body. */
  readonly posted: Files;
  /** Where the guard is, what a new application has besides, and files that show a trap. */
  readonly files: Files;
  readonly build: string;
  readonly start: string;
  /** What the page says of traps: the path, the token's scope and subject, the response. */
  readonly traps: readonly (readonly [
    path: string,
    scope: string | undefined,
    sub: string,
    status: number,
    part: string,
  ])[];
}

const thrown = (text = '') => text.replace('return result;', 'throw result;');
const nuxtRoute = ownFile('Nuxt and Nitro')['server/api/messages.get.ts'];
const astroRoute = ownFile('Astro')['src/pages/api/messages.ts'];
const routerRoute = ownFile('React Router')['app/routes/messages.ts'];
const svelteRoute = ownFile('SvelteKit')['src/routes/messages/+server.ts'];
const [, svelteHook = ''] = blocksOf(sectionOf(page, 'SvelteKit'));

/** Returns the route of the page as one for POST, which reads the body after the check, as its query says. */
const posted = (route = '', reader: string) =>
  `${route}${reader}`
    .replace(
      /return (Response\.json)?\(?\{ hello: .*\}\)?;/,
      (_, json = '') => `return ${json}(await read(${json ? 'request' : 'event'}));`,
    )
    .replace(/(?<=export const )GET/, 'POST')
    .replace('function loader', 'function action');
const ofRequests = `
async function read(request) {
  const kind = new URL(request.url).searchParams.get('kind');
  if (kind === 'json') return request.json();
  if (kind === 'form') return Object.fromEntries(await request.formData());
  let length = 0;
  for await (const chunk of request.body) length += chunk.length;
  return { length };
}`;
const ofEvents = `
async function read(event) {
  const { kind } = getQuery(event);
  if (kind === 'json') return readBody(event);
  if (kind === 'form') return Object.fromEntries(await readFormData(event));
  let length = 0;
  for await (const chunk of getRequestWebStream(event)) length += chunk.length;
  return { length };
}`;
const [, headersLine = ''] = /`(export const headers = .*;)`/.exec(page) ?? [];

export const frameworks: readonly Framework[] = [
  {
    name: 'Nuxt and Nitro',
    path: '/api/messages',
    posted: { 'server/api/posted.post.ts': posted(nuxtRoute, ofEvents) },
    files: {
      'server/utils/guard.ts': guard,
      'app/app.vue': '<template><p>ok</p></template>',
      'nuxt.config.ts': `export default defineNuxtConfig({ telemetry: false, compatibilityDate: '2026-01-01', routeRules: {
        '/api/ruled': { cache: { maxAge: 60 } },
        '/api/varied': { cache: { maxAge: 60, varies: ['authorization'] } },
        '/api/prerendered': { prerender: true },
      } });`,
      'server/api/cached.get.ts': `${nuxtRoute}`.replace('defineEventHandler', 'defineCachedEventHandler'),
      'server/api/ruled.get.ts': 'export default defineEventHandler((event) => event.context.sub);',
      'server/api/varied.get.ts': 'export default defineEventHandler((event) => event.context.sub);',
      'server/api/prerendered.get.ts': "export default defineEventHandler(() => 'of the build');",
      'server/middleware/auth.ts': `export default defineEventHandler(async (event) => {
        if (import.meta.prerender || !/ruled|varied|prerendered/.test(event.path)) return;
        const result = await useGuard().check({ method: event.method, url: getRequestURL(event).href, headers: event.headers });
        if (result instanceof Response) return result;
        event.context.sub = result.claims.sub;
      });`,
    },
    build: 'nuxt build',
    start: '.output/server/index.mjs',
    traps: [
      ['/api/cached', undefined, '', 401, 'missing_token'],
      ['/api/cached', scope, 'ada', 200, '{}'],
      ['/api/ruled', scope, 'ada', 200, 'ada'],
      ['/api/ruled', scope, 'bob', 200, 'ada'],
      ['/api/varied', scope, 'ada', 200, 'ada'],
      ['/api/varied', scope, 'bob', 200, 'bob'],
      ['/api/varied', undefined, '', 401, 'missing_token'],
      ['/api/prerendered', undefined, '', 200, 'of the build'],
    ],
  },
  {
    name: 'SvelteKit',
    path: '/messages',
    posted: { 'src/routes/posted/+server.ts': posted(svelteRoute, ofRequests) },
    files: {
      'src/guard.server.ts': guard,
      'src/app.html': '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'vite.config.js': `import adapter from '@sveltejs/adapter-node';
        import { sveltekit } from '@sveltejs/kit/vite';
        export default { plugins: [sveltekit({ adapter: adapter(), csrf: { trustedOrigins: ['*'] }, experimental: { remoteFunctions: true } })] };`,
      'src/hooks.server.ts': svelteHook,
      'src/routes/api/hooked/+server.ts': "export const GET = () => new Response('hooked');",
      'src/routes/echo/+server.ts':
        "export const GET = ({ url, route }) => new Response(url.pathname + ' ' + route.id);",
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
    traps: [
      ['/api/hooked', undefined, '', 401, 'missing_token'],
      ['/%61pi/hooked', undefined, '', 401, 'missing_token'],
      ['/api/hooked', '', 'ada', 200, 'hooked'],
      ['/%65cho', undefined, '', 200, '/%65cho /echo'],
      // SvelteKit derives the middle of the path from that of the file.
      ['/_app/remote/q5s0im/secret', undefined, '', 401, 'missing_token'],
      ['/_app/remote/q5s0im/secret', '', 'ada', 200, 'remote'],
      ['/?/remote=q5s0im/secret', undefined, '', 401, 'missing_token'],
      ['/area', undefined, '', 401, ''],
      ['/area/__data.json', undefined, '', 200, '401'],
      // A client chooses which functions run.
      ['/area/__data.json?x-sveltekit-invalidated=001', undefined, '', 200, 'of the area'],
    ],
  },
  {
    name: 'Astro',
    path: '/api/messages',
    posted: { 'src/pages/api/posted.ts': posted(astroRoute, ofRequests) },
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
      'src/actions/index.ts': `import { defineAction } from 'astro:actions';
        export const server = { secret: defineAction({ handler: () => 'of the action' }) };`,
      'src/pages/area/dynamic.astro': '---\nexport const prerender = false;\n---\n<p>of the area</p>',
      'src/pages/area/static.astro': '---\nexport const prerender = true;\n---\n<p>of the area</p>',
    },
    // Without settings, the build would fail at the endpoint that it calls.
    build: 'ISSUER=https://issuer.example.test/ AUDIENCE=api astro build',
    start: 'dist/server/entry.mjs',
    traps: [
      ['/api/prerendered', scope, 'ada', 200, 'missing_token'],
      ['/area/dynamic', undefined, '', 401, 'missing_token'],
      ['/%61rea/dynamic', undefined, '', 401, 'missing_token'],
      ['/area/static', undefined, '', 200, 'of the area'],
    ],
  },
  {
    name: 'React Router',
    path: '/messages',
    posted: { 'app/routes/posted.ts': posted(routerRoute, ofRequests) },
    files: {
      'app/guard.server.ts': guard,
      'app/root.tsx': `import { Outlet } from 'react-router';
        export default () => <html lang="en"><body><Outlet /></body></html>;`,
      'app/routes.ts': `import { route } from '@react-router/dev/routes';
        export default [
          ...['messages', 'posted', 'page', 'lost'].map((name) => route(name, \`routes/\${name}.ts\`)),
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
    traps: [
      ['/by-loader/users', undefined, '', 401, ''],
      ['/by-loader/users.data?_routes=by-loader-users', undefined, '', 200, 'of the area'],
      ['/by-middleware/users', undefined, '', 401, 'missing_token'],
      ['/by-middleware/users.data?_routes=by-middleware-users', undefined, '', 401, 'missing_token'],
    ],
  },
];
