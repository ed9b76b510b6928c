import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { haproxyConfiguration } from '../servers/haproxy.ts';
import type { CaseName } from './cases.ts';
import type { KeySetServer } from './key-set-server.ts';
import { freePort, type ServerProcess, startServer } from './server-process.ts';
import { sourceCommand } from './service.ts';
import { audience, issuer, type Tokens } from './tokens.ts';

/** A server that is measured. */
export interface Contestant {
  readonly name: string;
  readonly label: string;
  /** What it checks and how it gets its keys, where that is not what the others do. */
  readonly note: string;
  /** Measured in one round only: what it is compared with is several times faster or slower. */
  readonly isPeer?: boolean;
  /** The cases it takes part in. */
  readonly cases: readonly CaseName[];
  /** Where its status is not the usual one of the case. */
  readonly statuses?: Partial<Record<CaseName, number>>;
  /** Settings of this project's own service; undefined for other servers. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly program: 'bun' | 'haproxy' | 'node';
  readonly command: (port: number, context: Context) => readonly string[];
}

export interface Context {
  readonly tokens: Tokens;
  readonly keySet: KeySetServer;
  /** What the service answers, for the server that answers the same. */
  readonly answers: string;
}

const benchFolder = join(import.meta.dir, '..');
const builtFolder = join(benchFolder, 'dist');

// The texts are the service's own: bench.ts refuses to measure servers whose answers differ.
const publicMessage = "Hello from a public endpoint! You don't need to be authenticated to see this.";
const privateMessage = 'Hello from a private endpoint! You need to be authenticated to see this.';

const bunServer = (name: string) => ['bun', join(benchFolder, 'servers', name)];

/** Node peers run on Node, their home; it reads no TypeScript, so the types are taken off and nothing else is changed. */
function nodeServer(name: string): readonly string[] {
  const outfile = join(builtFolder, name.replace('.ts', '.mjs'));
  const source = join(benchFolder, 'servers', name);
  const build = ['bun', 'build', '--target=node', '--packages=external', `--outfile=${outfile}`, source];
  const { success, stderr } = Bun.spawnSync(build);
  if (!success) throw new Error(`Cannot build ${name}: ${stderr}`);
  return ['node', outfile];
}

function haproxy(port: number, { tokens }: Context): readonly string[] {
  mkdirSync(builtFolder, { recursive: true });
  const file = join(builtFolder, 'haproxy.cfg');
  const { publicKeyFile } = tokens;
  writeFileSync(file, haproxyConfiguration({ port, issuer, audience, publicKeyFile, publicMessage, privateMessage }));
  return ['haproxy', '-db', '-f', file];
}

const service = {
  program: 'bun',
  cases: ['public', 'one token', 'one token, scope', 'no header', 'bad signature', 'unknown kid'],
  settings: {},
  command: () => sourceCommand,
} as const;
const peer = { cases: ['public', 'one token', 'bad signature'], isPeer: true } as const;

/** All that can be measured. */
export const contestants: readonly Contestant[] = [
  {
    name: 'bare',
    label: 'bare Bun.serve',
    note: 'Reads nothing, checks nothing, and sends two headers.',
    cases: ['public', 'one token'],
    program: 'bun',
    command: () => bunServer('bare.ts'),
  },
  {
    name: 'equal',
    label: 'equal Bun.serve',
    note: 'Reads the request headers that this service reads, and sends the same status, headers and body. Checks nothing.',
    cases: ['public', 'one token', 'no header'],
    program: 'bun',
    command: () => bunServer('equal.ts'),
  },
  {
    ...service,
    name: 'ours',
    label: 'this service',
    note: 'All checks. Keys fetched and refreshed in the background; cache of 10,000 tokens.',
    cases: [...service.cases, 'outage'],
  },
  {
    ...service,
    name: 'twin',
    label: 'this service, twin',
    note: 'A second process of the service: shows how far two identical servers differ.',
  },
  {
    ...service,
    name: 'metrics',
    label: 'this service, METRICS_PORT',
    note: 'With metrics, as in production.',
    cases: ['public', 'one token'],
    settings: { METRICS_PORT: '0' },
  },
  {
    ...service,
    name: 'cold',
    label: 'this service, no cache',
    note: 'TOKEN_CACHE_SIZE=0: every token is verified, as if each were new.',
    cases: ['every token new'],
    settings: { TOKEN_CACHE_SIZE: '0' },
  },
  {
    name: 'haproxy',
    label: 'HAProxy jwt_verify',
    note: 'A public key from a file, whatever the kid; checks alg, signature, iss, exp and the first audience. One thread.',
    cases: ['public', 'one token', 'no header', 'every token new', 'bad signature'],
    program: 'haproxy',
    command: haproxy,
  },
  {
    ...peer,
    name: 'hono',
    label: 'Hono jwk, jwks_uri',
    note: 'Fetches the key set for every request. Accepts tokens without exp. On Bun.',
    program: 'bun',
    command: () => bunServer('hono.ts'),
  },
  {
    ...peer,
    name: 'express',
    label: 'express-oauth2-jwt-bearer',
    note: 'Keys fetched by jose, with its cooldown; no cache. On Node.',
    program: 'node',
    command: () => nodeServer('express.ts'),
  },
];

/** The service of another checkout of this project, such as an earlier revision. */
export const serviceIn = (folder: string): Contestant => ({
  ...service,
  name: 'other',
  label: 'the service of another checkout',
  note: 'Another checkout of this project.',
  command: () => ['bun', 'run', join(folder, 'src/index.ts')],
});

/** Starts a contestant on core 0; one that fetches its keys holds them when this returns. */
export async function startContestant(contestant: Contestant, context: Context): Promise<ServerProcess> {
  const { tokens, keySet, answers } = context;
  const { name, command, settings } = contestant;
  const port = await freePort();
  const peerSettings = {
    PUBLIC_MESSAGE: publicMessage,
    PRIVATE_MESSAGE: privateMessage,
    ANSWERS: answers,
  };
  const address = { PORT: String(port), HOST: '127.0.0.1', ISSUER: issuer, AUDIENCE: audience };
  const server = await startServer({
    name,
    command: command(port, context),
    env: { ...address, JWKS_URI: keySet.uri(name), ...(settings ?? peerSettings) },
    port,
    readyPath: '/api/public',
  });
  await waitForKeys(server, tokens.first('RS256'));
  return server;
}

/** The first token makes some servers fetch their keys, and others still have none: neither belongs in a measurement. */
async function waitForKeys(server: ServerProcess, token: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const response = await fetch(`${server.url}/api/private`, { headers: { authorization: `Bearer ${token}` } });
    await response.body?.cancel();
    if (response.status === 200) return;
    await Bun.sleep(50);
  }
  throw new Error(`Cannot get a valid token accepted at ${server.url}`);
}
