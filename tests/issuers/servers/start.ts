import { run } from '../../support/child-process.ts';
import type { RealServer } from './real.ts';

/** Starts a server, and resolves once it listens. */
export async function startServer({ command, name }: Pick<RealServer, 'command' | 'name'>) {
  const server = run(await command());
  // On a busy machine, Keycloak takes minutes.
  let hasEnded = false;
  const ended = server.finished.then(({ stderr }) => {
    hasEnded = true;
    throw new Error(`${name} has ended: ${stderr}`);
  });
  const listens = async () => {
    while (!hasEnded && !server.stdout().includes('}\n')) await Bun.sleep(100);
  };
  await Promise.race([listens(), ended]);
  ended.catch(() => undefined);
  const { issuer }: { readonly issuer: string } = JSON.parse(server.stdout());
  const close = async () => {
    server.signal('SIGKILL');
    await server.finished;
  };
  return { issuer, close };
}

/** Starts a server, and gets its tokens. */
export async function start(server: RealServer) {
  const { issuer, close } = await startServer(server);
  try {
    return { issuer, tokens: await server.tokens(issuer), close };
  } catch (error) {
    await close();
    throw error;
  }
}
