import type { Settings } from './real-server.ts';
import type { Started } from './start.ts';

/** Does what the script of a server offers under this name, and returns its result. */
export async function act<Result>({ control }: Pick<Started, 'control'>, name: string, parameters: Settings = {}) {
  const response = await fetch(`${control}/${name}?${new URLSearchParams(parameters)}`, {
    method: 'POST',
    keepalive: false,
  });
  if (!response.ok) throw new Error(`${name}: ${await response.text()}`);
  return (await response.json()) as Result;
}
