import { build } from 'esbuild';
// @ts-expect-error: the package has no types.
import untyped from 'workerd';
import { type Environment, run } from './child-process.ts';
import { type Form, startService } from './forms.ts';

const workerd: string = untyped;

/** Without flags, and so without the modules of Node.js. */
const configOf = (
  bindings: Environment,
  [remote, durable]: readonly string[],
) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "internet", network = (allow = ["public", "private"])),
    (name = "worker", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-11-01",
      globalOutbound = "internet",
      bindings = [${Object.entries(bindings).map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`)}${remote}],
      ${durable}
    )),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${bindings.PORT}", http = (), service = "worker")],
);`;

/** What a script with the class `RevocationList` reaches through RPC: a service, and a Durable Object. */
const remoteOf = (script: string) =>
  script.includes('RevocationList')
    ? [
        `, (name = "SERVICE", service = (name = "worker", entrypoint = "Revocations")),
         (name = "OBJECTS", durableObjectNamespace = "RevocationList")`,
        `durableObjectNamespaces = [(className = "RevocationList", uniqueKey = "revocations")],
         durableObjectStorage = (inMemory = void),`,
      ]
    : ['', ''];

export async function bundle(script: string, platform: 'browser' | 'node' = 'browser'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [script],
    bundle: true,
    write: false,
    format: 'esm',
    platform,
    external: ['cloudflare:workers'],
  });
  return outputFiles[0]?.text ?? '';
}

/**
 * Runs a script in workerd, the runtime of Cloudflare Workers, with the settings as its bindings, and prints its URL
 * first.
 */
export async function runWorker(script: string, settings: Environment) {
  const bundled = await bundle(script);
  const files = { 'worker.js': bundled, 'config.capnp': configOf(settings, remoteOf(bundled)) };
  const command = `echo http://127.0.0.1:${settings.PORT}; exec "$0" serve config.capnp`;
  return run(['/bin/sh', '-c', command, workerd], {}, files);
}

export const workerForm = (script: () => string): Form => ({
  name: 'workerd',
  start: (settings) => startService((given) => runWorker(script(), given), settings),
});
