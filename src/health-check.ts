import { escapeUnprintable } from './observe/escape.ts';
import { localOrigin } from './settings.ts';

/** Returns undefined if an instance on this machine responds to `/livez` with 200, otherwise a line that says why not. */
export async function findFault(host: string, port: number | string): Promise<string | undefined> {
  const url = `${localOrigin(host, port)}/livez`;
  const describe = (reason: unknown) => escapeUnprintable(`Not live: ${url}: ${reason}`);
  try {
    // A proxy named in the environment cannot reach this process.
    const { status } = await fetch(url, { proxy: false, redirect: 'manual', signal: AbortSignal.timeout(2000) });
    return status === 200 ? undefined : describe(`status ${status}`);
  } catch (error) {
    const { name = '', code = name } = error as { readonly name?: string; readonly code?: unknown };
    return describe(typeof code === 'string' ? code : name);
  }
}
