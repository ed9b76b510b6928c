import { expect } from 'bun:test';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { decodeJwt } from 'jose';
import { createSigner } from '../../src/auth/testing/signer.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { serve } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { migrationCells } from './migration-cells.ts';

const pages = ['README.md', 'docs/guard.md', 'docs/dpop.md', 'docs/coming-from.md', 'src/auth/README.md'];

/** Returns the TypeScript blocks of a page, each with the heading above it and the file that a test writes it to. */
async function blocksOf(page: string) {
  const sections = (await readText(page)).split(/^#+ /m).slice(1);
  const blocks = sections.flatMap((section) =>
    [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => ({ heading: section.split('\n')[0], text })),
  );
  const name = page.replace(/\W+/g, '-').toLowerCase();
  return blocks.map((block, index) => {
    const isTest = block.text.includes("from 'node:test'");
    return { ...block, file: `${name}-${index}${isTest ? '.test' : ''}.ts` };
  });
}

export const blocks = (await Promise.all(pages.map(blocksOf))).flat();
export const issuer = await createTestIssuer();
export const ecSigner = createSigner('ES256');
const keys = [...issuer.options.keys.keys, { ...ecSigner.jwk, kid: 'ec' }];
/** Publishes metadata and keys of two issuers in one document each, and exchanges a token for a sentence about it. */
const tenant = serve(async (request) => {
  const issuer = request.url.replace(/\.well-known.*/, '');
  if (request.method === 'GET') return Response.json({ issuer, jwks_uri: issuer, token_endpoint: issuer, keys });
  const form = Object.fromEntries(await request.formData());
  const { grant_type, subject_token, audience, client_id, client_secret } = form;
  const { sub } = decodeJwt(String(subject_token));
  return new Response([grant_type, sub, audience, client_id, client_secret].join(' '));
});
export const url = tenant.url.href;
export const options = { issuer: url, audience: 'https://api.example.com' };
export const github = `${url}github/`;
export const folder = temporaryFolder('dist');

// No test looks up a name: the issuers are on loopback.
for (const { file, text } of blocks)
  await Bun.write(
    join(folder, text.includes('export const options') ? 'options.ts' : file),
    text
      .replaceAll('https://tenant.example.com/', url)
      .replaceAll('https://token.actions.githubusercontent.com', github),
  );
await Bun.write(join(folder, 'cells.ts'), await migrationCells());
const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false };
await Bun.write(
  join(folder, 'tsconfig.json'),
  JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
);
tenant.unref();

/** What is special about a request. */
export interface Special {
  readonly boundTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;
/** A block that serves requests exports an application, or a function of a request. */
interface Served {
  readonly fetch: (request: Request, server: object) => Promise<Response>;
}
export const isServed = ({ text }: { readonly text: string }) =>
  /export (?:const app|async function fetch|function createApp)/.test(text);
type Application = { readonly fetch: (request: Request) => Response | Promise<Response> } | Listener | FastifyInstance;

type Exported = { readonly app: Application } | { readonly createApp: (options: object) => Application };
const appOf = (exported: Exported) => ('app' in exported ? exported.app : exported.createApp(options));

/** Sends a request to an application: a function of a request, that of a server of Node.js, or Fastify. */
async function respond(app: Application, request: Request): Promise<Response> {
  if ('fetch' in app) return app.fetch(request);
  if ('ready' in app) await app.ready();
  const server = 'ready' in app ? app.server : createServer(app);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const url = new URL(request.url);
  try {
    return await fetch(`http://127.0.0.1:${port}${url.pathname}`, { headers: request.headers, keepalive: false });
  } finally {
    server.close();
  }
}

/** Returns what the block under a heading exports. */
export const load = (heading: string) =>
  import(join(folder, blocks.find((each) => each.heading === heading && isServed(each))?.file ?? ''));

/** Returns the status, three headers and the body with which the application of a block responds. */
export async function send(heading: string, request: string, claims?: object, special: Special = {}): Promise<string> {
  const served: Exported | Served = await load(heading);
  const app =
    'fetch' in served ? { fetch: (sent: Request) => served.fetch(sent, { upgrade: () => false }) } : appOf(served);
  const [method = '', path, body] = request.split(' ');
  const claimed = claims && { iss: url, aud: options.audience, auth_time: Math.floor(Date.now() / 1000), ...claims };
  // The token is sent in each header that a recipe reads.
  const token = claimed && (await issuer.token(claimed, { boundTo: special.boundTo }));
  const headers = {
    'content-type': 'application/json',
    ...(heading === 'WebSockets' && { upgrade: 'websocket' }),
    ...(token && { ...bearer(token), 'cf-access-jwt-assertion': token, 'sec-websocket-protocol': `bearer, ${token}` }),
    ...special.headers,
  };
  const response = await respond(
    app,
    new Request(`http://localhost${path}`, { method, headers, ...(body && { body }) }),
  );
  const names = ['access-control-allow-origin', 'content-type', 'www-authenticate'];
  const said = [...names.map((name) => response.headers.get(name)), await response.text()];
  return `${response.status} ${said.join(' ')}`;
}

/** Runs a file of the folder as a test. */
export async function passes(file: string): Promise<void> {
  const child = Bun.spawn([process.execPath, 'test', join(folder, file)], { cwd: root, stderr: 'pipe' });
  expect(await child.stderr.text()).toContain(' 0 fail');
  expect(await child.exited).toBe(0);
}
