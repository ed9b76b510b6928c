import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Environment, run, runToEnd, until } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { startService } from '../support/forms.ts';
import { installLocked } from '../support/installed-package.ts';
import { AUDIENCE, bearer, mintToken, SCOPE, signingKeys } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { firstBlock } from './frameworks/applications.ts';

/*
 * Hosts that freeze an instance between two requests, and end it when they like: the refresh of keys that are too old
 * ends first with the blocks of the pages. Next.js is built, and started as it is in production.
 */

const node = nodePath(newestNode);
const nextGuard = firstBlock((await readText('docs/start/nextjs.md')).split('### Vercel\n')[1] ?? '');
const vercelRoute = firstBlock((await readText('docs/start/fetch.md')).split('### Vercel Functions\n')[1] ?? '');

const nextRoute = `import { connection } from 'next/server';
import { getGuard } from './guard';
export async function GET(request: Request): Promise<Response> {
  await connection();
  const result = await getGuard().check(request, { scope: 'read:messages' });
  return result instanceof Response ? result : Response.json({ hello: result.claims.sub });
}`;
const layout = `export default function Layout({ children }: { children: React.ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}`;
/** What Vercel gives to a function: promises without which it does not end an instance. */
const launcher = `import { createServer } from 'node:http';
import { GET } from './messages.ts';
const pending = [];
globalThis[Symbol.for('@vercel/request-context')] = { get: () => ({ waitUntil: (promise) => pending.push(promise) }) };
createServer(async ({ url, headers }, response) => {
  const { status } = await GET(new Request('http://localhost' + url, { headers }));
  response.writeHead(status).end();
}).listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => Promise.all(pending).then(() => process.exit()));`;

const folder = startedFor(async () => {
  const at = await installLocked('nightly');
  const files = {
    'app/layout.tsx': layout,
    'app/livez/route.ts': "export const GET = () => new Response('ok');",
    'app/kept/guard.ts': nextGuard,
    'app/kept/route.ts': nextRoute,
    'app/lost/guard.ts': nextGuard.replace(/^ *waitUntil: after,\n/m, '').replace(/^import \{ after \}.*\n/, ''),
    'app/lost/route.ts': nextRoute,
    'messages.ts': vercelRoute,
    'launcher.mjs': launcher,
  };
  for (const [file, text] of Object.entries(files)) await Bun.write(join(at, file), text);
  const built = await runToEnd([node, join(at, 'node_modules/next/dist/bin/next'), 'build', at], silent);
  expect(built.status, built.stdout + built.stderr).toBe(0);
  return at;
});

const silent = { NEXT_TELEMETRY_DISABLED: '1' };
const next = (environment: Environment) =>
  run([node, join(folder(), 'node_modules/next/dist/bin/next'), 'start', folder(), '-H', '127.0.0.1'], {
    ...silent,
    ...environment,
  });
const vercel = (environment: Environment) => run([node, join(folder(), 'launcher.mjs')], environment);

describe('an instance that is frozen until its keys are too old, and is ended after the next response', () => {
  test.each([
    ['Next.js with waitUntil', next, '/kept', 'finished'],
    ['Next.js without waitUntil', next, '/lost', 'aborted'],
    ['a Vercel Function with waitUntil', vercel, '/messages', 'finished'],
  ] as const)('%s', async (_, start, path, outcome) => {
    const outcomes: string[] = [];
    let delayMs = 0;
    await using issuer = serve(async ({ signal }) => {
      await Bun.sleep(delayMs);
      outcomes.push(signal.aborted ? 'aborted' : 'finished');
      return Response.json({ keys: signingKeys() });
    });
    const maxAgeSeconds = 5;
    const service = await startService(start, {
      ...{ ISSUER: issuer.url.href, AUDIENCE, JWKS_URI: issuer.url.href },
      ...{ JWKS_MAX_AGE_SECONDS: String(maxAgeSeconds), JWKS_COOLDOWN_SECONDS: '1' },
    });
    const headers = bearer(mintToken(issuer.url.href, { claims: { scope: SCOPE } }));
    const ask = async () => (await service.fetch(path, { headers })).status;
    expect(await ask()).toBe(200);
    service.process.signal('SIGSTOP');
    await Bun.sleep(1.2 * maxAgeSeconds * 1000);
    delayMs = 3000;
    const asked = ask();
    service.process.signal('SIGCONT');
    expect(await asked).toBe(200);
    expect(outcomes).toEqual(['finished']);
    await service.close();
    await until(() => outcomes.length > 1, 'the refresh ends');
    expect(outcomes).toEqual(['finished', outcome]);
  });
});
