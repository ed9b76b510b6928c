import { join } from 'node:path';
import { freePort, type ServerProcess, startServer } from './server-process.ts';
import { audience, issuer } from './tokens.ts';

const projectFolder = join(import.meta.dir, '..', '..');

/** How a person starts this project's service from its source. */
export const sourceCommand: readonly string[] = ['bun', 'run', join(projectFolder, 'src', 'index.ts')];
/** Where `bun run build` puts the executable. */
export const executable = join(projectFolder, 'dist', 'protected-api');

export interface ServiceOptions {
  readonly jwksUri: string;
  readonly command?: readonly string[];
  /** Settings beside the issuer, audience, key set and address. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly core?: number;
  readonly readyPath?: string;
  readonly pollMs?: number;
}

/** Starts the service alone, on the servers' core unless told otherwise, and waits until it holds its keys. */
export async function startService(options: ServiceOptions): Promise<ServerProcess> {
  const { jwksUri, command = sourceCommand, settings = {}, core = 0, readyPath = '/readyz', pollMs = 20 } = options;
  const port = options.port ?? (await freePort());
  const own = { ISSUER: issuer, AUDIENCE: audience, JWKS_URI: jwksUri, PORT: String(port), HOST: '127.0.0.1' };
  return startServer({ name: 'service', command, env: { ...own, ...settings }, port, core, readyPath, pollMs });
}
