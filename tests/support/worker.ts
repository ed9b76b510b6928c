import { build } from 'esbuild';
// @ts-expect-error: the package has no types.
import untyped from 'workerd';
import { type Environment, run } from './child-process.ts';
import { type Form, startService } from './forms.ts';

/** The path of its executable. */
const workerd: string = untyped;

/** Without flags, and so without the modules of Node.js. */
const configOf = (bindings: Environment) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "internet", network = (allow = ["public", "private"])),
    (name = "worker", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-11-01",
      globalOutbound = "internet",
      bindings = [${Object.entries(bindings).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`)}],
    )),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${bindings.PORT}", http = (), service = "worker")],
);`;

/** Returns the bundle of a script for a browser platform. */
export async function bundle(script: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [script],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    external: ['cloudflare:workers'],
  });
  return outputFiles[0]?.text ?? '';
}

/** A Worker in workerd, the runtime of Cloudflare Workers, with the settings as its bindings. */
export const workerForm = (script: () => string): Form => ({
  name: 'workerd',
  startTimeoutMs: 60_000,
  async start(settings) {
    const files = { 'worker.js': await bundle(script()) };
    const environment = { PATH: process.env.PATH ?? '' };
    return startService(
      (given) => run([workerd, 'serve', 'config.capnp'], environment, { ...files, 'config.capnp': configOf(given) }),
      settings,
    );
  },
});
