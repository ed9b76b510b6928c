import { expect } from 'bun:test';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { createSigner } from '../../src/auth/testing/create-signer.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { serve } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import { pages, readText, root } from '../support/repository.ts';
import { type Application, type FetchServer, respond } from '../support/respond.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { migrationCells } from './migration-cells.ts';

export const issuer = await createTestIssuer();
export const ecSigner = createSigner('ES256');
const keys = [...issuer.options.keys.keys, { ...ecSigner.jwk, kid: 'ec' }];
/**
 * Publishes metadata and keys of every issuer below its URL in one document each, and exchanges a token for one that
 * names its form.
 */
const tenant = serve(async (request) => {
  const url = request.url.replace(/\.well-known.*/, '');
  const named = url.replace('common/', '{tenantid}/').replace(/(?<=v2\.0)\/$/, '');
  if (request.method === 'GET') return Response.json({ issuer: named, jwks_uri: url, token_endpoint: url, keys });
  const { subject_token, audience, client_id } = Object.fromEntries(await request.formData());
  const { sub } = decodeJwt(String(subject_token));
  return Response.json({ access_token: [sub, audience, client_id].join(' ') });
});
tenant.unref();
export const url = tenant.url.href;
export const audience = 'https://api.example.com';
export const github = `${url}github/`;
export const folder = temporaryFolder('dist');

/**
 * A block in a page: the page with the heading above it, as in `guides/scopes#Roles 2` for the second, and the file
 * that a test writes it to.
 */
interface Block {
  readonly id: string;
  readonly file: string;
  readonly text: string;
  /** Whether its page marks it as lines that belong into a file of the reader. Any other block is a whole file. */
  readonly isFragment: boolean;
}

/** What a fragment needs to compile and to serve a request: a server of either kind. */
const frames = {
  elysia: (lines: string) => `import { Elysia, t } from 'elysia';
import { createGuard, type RequirementContext, resourceServer } from 'protected-api/elysia';
import { audience, issuer } from './options.ts';
${/const app\b/.test(lines) ? '' : 'const app = new Elysia().use(resourceServer({ issuer, audience }));'}
${lines}
export { app };`,
  fetch: (lines: string) => `import { createGuard } from 'protected-api';
import { z } from 'zod';
import { audience, issuer } from './options.ts';
export async function fetch(request: Request): Promise<Response> {
  ${/const guard\b/.test(lines) ? '' : 'const guard = createGuard({ issuer, audience });'}
  ${lines}
  ${/const result\b/.test(lines) ? '' : 'const result = await guard.check(request);'}
  ${/^return /m.test(lines) ? '' : 'return result instanceof Response ? result : Response.json(result.claims);'}
}`,
};

/** Returns a fragment in its frame. A file that exports nothing but creates a guard gets a server. */
function framed({ text, isFragment }: Pick<Block, 'text' | 'isFragment'>): string {
  if (isFragment) return frames[/\bapp\b/.test(text) ? 'elysia' : 'fetch'](text);
  if (/^export |'node:test'/m.test(text) || !/^const guard\b/m.test(text)) return text;
  return `${text}export async function fetch(request: Request): Promise<Response> {
  const result = await guard.check(request);
  return result instanceof Response ? result : Response.json(result.claims);
}`;
}

/** Returns the TypeScript blocks of a page. */
async function blocksOf(page: string): Promise<readonly Block[]> {
  const name = page.replace(/^docs\/|\.md$/g, '');
  // The numbered steps of a page are one section.
  const [first = '', ...others] = (await readText(page)).split(/^##+ (?!\d\. )/m);
  const sections = [['', first], ...others.map((section) => [`#${section.split('\n')[0]}`, section])] as const;
  const found = sections.flatMap(([heading, section]) => {
    const matches = [...section.matchAll(/^ *```ts(?: \[\w+\])?( fragment)?\n(.*?)^ *```$/gms)];
    return matches.map(([, mark, text = ''], index) => {
      const id = `${name}${heading}${index > 0 ? ` ${index + 1}` : ''}`;
      return { id, text, isFragment: mark !== undefined };
    });
  });
  return found.map((block, index) => {
    const suffix = block.text.includes("from 'node:test'") ? '.test' : '';
    return { ...block, file: `${name.replace(/\W+/g, '-').toLowerCase()}-${index}${suffix}.ts` };
  });
}

// The blocks of CONTRIBUTING.md are changes of this repository.
export const blocks = (await Promise.all(pages.filter((page) => page !== 'CONTRIBUTING.md').map(blocksOf))).flat();

// No test looks up a name: the issuers are on loopback.
const onLoopback = (text: string) =>
  text
    .replaceAll(/https:\/\/(?:tenant\.example|login\.microsoftonline)\.com\/|http:\/\/localhost:4010\//g, url)
    .replaceAll('https://token.actions.githubusercontent.com', github)
    // An address that a function returns.
    .replace('{ issuer: iss, requiredClaims', '{ issuer: iss, jwksAllowPrivate: true, requiredClaims');
const withoutPorts = (text: string) =>
  text
    .replace(/^serve\((?:.*\{\n(?: .*\n)+\}\)|.*\));\n/m, '')
    .replace(/(?:\n {2})?\.listen\((?!0,)(?:.*\{\n(?: .*\n)+? *\}\)|.*\))/, '')
    .replace('create(Application)', 'create(Application, { logger: false })');
/** Writes a module beside the blocks. */
export const write = (file: string, text: string) => Bun.write(join(folder, file), onLoopback(text));

for (const block of blocks) await write(block.file, framed({ ...block, text: withoutPorts(block.text) }));
// Files that other blocks of the page import.
for (const [file, block] of [
  ['mcp-guard.ts', 'examples/mcp'],
  ['document.ts', 'guides/openapi#Hono and Express'],
  ['orders.ts', 'guides/openapi'],
  ['call.ts', 'guides/callers#With a bearer token'],
  ['call-with-proof.ts', 'guides/callers#With DPoP'],
] as const)
  await write(file, blocks.find(({ id }) => id === block)?.text ?? '');
await write('options.ts', `export const issuer = '${url}';\nexport const audience = '${audience}';\n`);
for (const [index, cells] of (await migrationCells()).entries()) await write(`cells-${index}.ts`, cells);
// Node.js only removes types, so a block cannot have other syntax of TypeScript, such as a parameter property.
const compilerOptions = {
  moduleDetection: 'force',
  erasableSyntaxOnly: true,
  noUnusedLocals: false,
  noUnusedParameters: false,
};
const project = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] };
await write('tsconfig.json', JSON.stringify(project));

/** Whether a block serves requests: it exports an application, or a function of a request. */
export const isServed = (block: Block) =>
  /export (?:const app|\{ app \}|const fetch|async function fetch|default)/.test(framed(block));

/** What is special about a request. */
export interface Special {
  readonly boundTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Exported = FetchServer | { readonly app: Application } | { readonly default: FetchServer };

/** Returns what the block with this name exports. */
export const load = async (id: string) =>
  import(join(folder, blocks.find((block) => block.id === id && isServed(block))?.file ?? ''));

/** Returns the status, three headers and the body with which a block responds to a request such as `GET /me`. */
export async function send(id: string, sent: string, claims?: object, special: Special = {}): Promise<string> {
  const exported: Exported = await load(id);
  const app = 'fetch' in exported ? exported : 'app' in exported ? exported.app : exported.default;
  const [method = '', path, body] = sent.split(' ');
  const claimed = claims && { iss: url, aud: audience, auth_time: Math.floor(Date.now() / 1000), ...claims };
  // The token is sent in each header that a recipe reads.
  const token = claimed && (await issuer.token(claimed, { boundTo: special.boundTo }));
  const headers = {
    'content-type': 'application/json',
    ...(token && { ...bearer(token), 'cf-access-jwt-assertion': token, 'sec-websocket-protocol': `bearer, ${token}` }),
    ...special.headers,
  };
  const request = new Request(`http://localhost${path}`, { method, headers, ...(body && { body }) });
  const response = await respond(app, request);
  const names = ['access-control-allow-origin', 'content-type', 'www-authenticate'];
  return [response.status, ...names.map((name) => response.headers.get(name)), await response.text()].join(' ');
}

/** Runs files of the folder as tests, in one process. */
export async function passes(...files: readonly string[]): Promise<void> {
  const paths = files.map((file) => join(folder, file));
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '180000', ...paths], { cwd: root, stderr: 'pipe' });
  const said = await child.stderr.text();
  expect(said).toContain('\n 0 fail\n');
  expect(said).toContain(` across ${files.length} file`);
  expect(await child.exited).toBe(0);
}
