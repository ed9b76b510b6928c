import { join } from 'node:path';
import { freePort, type ServerProcess, startServer } from './server-process.ts';
import { audience, issuer } from './tokens.ts';

/** How a person starts this project's service from its source. */
export const sourceCommand: readonly string[] = ['bun', 'run', join(import.meta.dir, '../../src/index.ts')];

/** Starts the service alone, and waits until it holds its keys. */
export async function startService(jwksUri: string): Promise<ServerProcess> {
  const port = await freePort();
  const env = { ISSUER: issuer, AUDIENCE: audience, JWKS_URI: jwksUri, PORT: String(port), HOST: '127.0.0.1' };
  return startServer({ name: 'service', command: sourceCommand, env, port, readyPath: '/readyz' });
}
