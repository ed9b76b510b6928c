import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { version } from '../../src/auth/package.json';
import type { ProbeReport } from '../../src/probe/index.ts';
import { startServedIssuer } from '../../src/probe/issuer/served-issuer.ts';
import { runProbe } from '../../src/probe/run/probe.ts';
import { dependencies } from '../compare/package.json';
import { compared, type Library, plainOf, replacePart, type Tables, tablesOf } from '../compare/page.ts';
import { freePort, run, untilProcess } from '../support/child-process.ts';
import { installLocked } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText, root } from '../support/repository.ts';

const [page, rowsPage] = ['docs/comparison.md', 'bench/comparison.md'];
const setup = 'bench/comparison-setup.md';
const audience = 'https://api.example.com';
/** Rows that are not published: the maintainers of a library are told first what they show. */
const setAside = ['alg-spelling', 'fetch-redirect', 'fetch-redirect-forged'];
/** The time after which jose fetches keys again. */
const cooldownMs = 31_000;

/** Starts an API, and an issuer that it trusts, whose keys it has fetched. */
async function start(folder: string, text: string, { name }: Library) {
  const [, code = ''] = text.split(`\n## ${name}\n`)[1]?.split('```js\n') ?? [];
  const file = join(folder, `${name.replaceAll(/\W/g, '-')}.mjs`);
  await Bun.write(file, code.split('```')[0] ?? '');
  const { issuer, server } = await startServedIssuer({ audience });
  const PORT = String(await freePort());
  const JWKS_URI = `${server.url}.well-known/jwks.json`;
  const environment = { NODE_ENV: 'production', ISSUER: server.url, AUDIENCE: audience, JWKS_URI, PORT };
  const child = run([nodePath(newestNode), file], environment);
  const options = {
    issuer,
    targets: [{ url: `http://127.0.0.1:${PORT}/messages`, scope: 'read:messages' }],
    skip: setAside,
  };
  const isReady = async () => (await runProbe({ ...options, only: ['control'] }, server)).isComplete;
  await untilProcess(child, isReady, `${name} accepts a token`);
  return { options, server, stop: () => Promise.all([server.close(), child.signal('SIGKILL'), child.finished]) };
}

async function compare(text: string): Promise<Tables> {
  const folder = await installLocked('compare', 'settings.mjs');
  const started = await Promise.all(
    compared.map(async (library) => ({ library, ...(await start(folder, text, library)) })),
  );
  await Bun.sleep(cooldownMs);
  const results: (readonly [Library, ProbeReport['rows']])[] = [];
  for (const { library, options, server } of started) results.push([library, (await runProbe(options, server)).rows]);
  await Promise.all(started.map(({ stop }) => stop()));
  return tablesOf(results, { ...dependencies, 'protected-api': version });
}

/** The tables of the pages, as they are and as they would be written now. `bun run compare` writes them. */
test(`${page} has what the libraries do now`, async () => {
  const [text, details] = await Promise.all([page, rowsPage].map(readText));
  const { summary, rows } = await compare(await readText(setup));
  const date = `Generated on ${new Date().toISOString().slice(0, 10)} with Node.js ${newestNode}`;
  const written = {
    [page]: replacePart(text ?? '', 'libraries: generated', summary).replace(/Generated on \S+ with Node.js \d+/, date),
    [rowsPage]: replacePart(details ?? '', 'generated', rows),
  };
  for (const [file, now] of Object.entries(written))
    if (process.env.WRITE_COMPARISON) await Bun.write(join(root, file), now);
    else expect(plainOf(now)).toBe(plainOf(await readText(file)));
});
