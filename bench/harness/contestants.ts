import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { haproxyConfiguration } from '../servers/haproxy.ts';
import type { CaseName } from './cases.ts';
import type { KeySetServer } from './key-set-server.ts';
import { freePort, type ServerProcess, startServer } from './server-process.ts';
import { executable, sourceCommand } from './service.ts';
import { audience, issuer, type Tokens } from './tokens.ts';

/** A server that is measured. */
export interface Contestant {
  readonly name: string;
  readonly label: string;
  /** Where its keys come from: only those that fetch can cause a fetch, or lose their keys in an outage. */
  readonly keys: 'fetched' | 'given' | 'none';
  /** What it checks and how it gets its keys, where that is not what the others do. */
  readonly note: string;
  /** Where its status is not the usual one of the case. */
  readonly statuses?: Partial<Record<CaseName, number>>;
  /** True for this project's own service, which gets its own settings and nothing else. */
  readonly isService?: boolean;
  readonly isMissing?: () => string | undefined;
  readonly command: (port: number, context: Context) => readonly string[];
}

export interface Context {
  readonly tokens: Tokens;
  readonly keySet: KeySetServer;
}

/** Servers have this core for themselves; the load generator and the key-set server share the other. */
export const serverCore = 0;
export const loadCore = 1;

const benchFolder = join(import.meta.dir, '..');
const builtFolder = join(benchFolder, 'dist');

// The texts are the service's own: bench.ts refuses to measure servers whose answers differ.
const publicMessage = "Hello from a public endpoint! You don't need to be authenticated to see this.";
const privateMessage = 'Hello from a private endpoint! You need to be authenticated to see this.';

const bunServer = (name: string, ...args: readonly string[]) => ['bun', join(benchFolder, 'servers', name), ...args];

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
  const { publicKeyPemFile } = tokens;
  writeFileSync(
    file,
    haproxyConfiguration({ port, issuer, audience, publicKeyPemFile, publicMessage, privateMessage }),
  );
  return ['haproxy', '-db', '-f', file];
}

const missing = (program: string) => () => (Bun.which(program) ? undefined : `${program} is not installed`);
const oursNote =
  'Every check of the contract. Keys fetched, refreshed in the background; verified tokens cached (10,000).';

/** Everyone who can be measured; the first is the baseline of all ratios. */
export const contestants: readonly Contestant[] = [
  {
    name: 'bare',
    label: 'bare Bun.serve',
    keys: 'none',
    note: 'Checks nothing; given the same headers, it answers 200 to everything.',
    statuses: { 'bad signature': 200, 'unknown kids': 200, 'no header': 200, 'bad header': 200 },
    command: () => bunServer('bare.ts'),
  },
  {
    name: 'ours',
    label: 'this service',
    keys: 'fetched',
    note: oursNote,
    isService: true,
    command: () => sourceCommand,
  },
  {
    name: 'twin',
    label: 'this service, twin',
    keys: 'fetched',
    note: 'The same again, to show how far two identical servers are apart.',
    isService: true,
    command: () => sourceCommand,
  },
  {
    name: 'executable',
    label: 'this service, executable',
    keys: 'fetched',
    note: oursNote,
    isService: true,
    isMissing: () => (existsSync(executable) ? undefined : 'not built: bun run build'),
    command: () => [executable],
  },
  {
    name: 'haproxy',
    label: 'HAProxy jwt_verify',
    keys: 'given',
    note: 'One public key from a PEM file, whatever the kid; checks alg, signature, iss, exp and the first audience only. One thread.',
    isMissing: missing('haproxy'),
    command: haproxy,
  },
  {
    name: 'fast-jwt',
    label: 'Fastify + fast-jwt, cache',
    keys: 'given',
    note: 'One public key, whatever the kid; checks alg, signature, iss, aud, exp. Its cache is given 10,000 entries (its default is 1,000). On Node.',
    isMissing: missing('node'),
    command: () => nodeServer('fastify-fast-jwt.ts'),
  },
  {
    name: 'fastify',
    label: 'Fastify + @fastify/jwt + get-jwks',
    keys: 'fetched',
    note: 'Keys fetched, a minute each; an unknown kid is a fetch. Cache of 10,000 entries. On Node.',
    statuses: { 'unknown kids': 500 },
    isMissing: missing('node'),
    command: () => nodeServer('fastify-get-jwks.ts'),
  },
  {
    name: 'hono',
    label: 'Hono jwk, jwks_uri',
    keys: 'fetched',
    note: 'Fetches the key set for every request. Does not insist on an exp. On Bun.',
    command: () => bunServer('hono.ts'),
  },
  {
    name: 'hono-local',
    label: 'Hono jwk, local keys',
    keys: 'given',
    note: 'Keys given at the start. Does not insist on an exp. On Bun.',
    command: () => bunServer('hono.ts', 'local'),
  },
  {
    name: 'express',
    label: 'express-oauth2-jwt-bearer',
    keys: 'fetched',
    note: 'Keys fetched through jose, with its cooldown; every token is verified anew. On Node.',
    statuses: { 'bad header': 400 },
    isMissing: missing('node'),
    command: () => nodeServer('express.ts'),
  },
];

/** Starts a contestant on the servers' core; one that fetches its keys holds them when this returns. */
export async function startContestant(contestant: Contestant, context: Context): Promise<ServerProcess> {
  const { tokens, keySet } = context;
  const port = await freePort();
  const settings = { PORT: String(port), HOST: '127.0.0.1', ISSUER: issuer, AUDIENCE: audience };
  const peerSettings = {
    LOCAL_JWKS: tokens.jwks,
    PUBLIC_KEY_PEM_FILE: tokens.publicKeyPemFile,
    PUBLIC_MESSAGE: publicMessage,
    PRIVATE_MESSAGE: privateMessage,
  };
  const server = await startServer({
    name: contestant.name,
    command: contestant.command(port, context),
    env: { ...settings, JWKS_URI: keySet.uri(contestant.name), ...(contestant.isService ? {} : peerSettings) },
    port,
    core: serverCore,
    readyPath: '/api/public',
  });
  await waitForKeys(server, tokens.validToken);
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
