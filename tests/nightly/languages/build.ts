import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { root } from '../../support/repository.ts';

// Here clients and servers of MCP in other languages are built, each as the documentation of its SDK has it.

const here = import.meta.dir;
const cache = join(root, 'node_modules/.cache/languages');
const python = join(cache, 'python/bin/python');
const java = ['java', '-cp', join(cache, 'java/*')];

/** An SDK, and the commands of its programs. */
export interface Sdk {
  readonly name: string;
  readonly client: readonly string[];
  readonly server?: readonly string[];
  /** Whether the server can verify tokens itself. */
  readonly verifies?: boolean;
}

interface Language {
  readonly sdks: readonly Sdk[];
  build(): Promise<unknown>;
}

const languages: Readonly<Record<string, Language>> = {
  Python: {
    sdks: [
      {
        name: 'mcp of Python',
        client: [python, join(here, 'python/sdk_client.py')],
        server: [python, join(here, 'python/sdk_server.py')],
        verifies: true,
      },
      {
        name: 'fastmcp of Python',
        client: [python, join(here, 'python/fastmcp_client.py')],
        server: [python, join(here, 'python/fastmcp_server.py')],
        verifies: true,
      },
    ],
    async build() {
      const file = join(here, 'python/requirements.txt');
      const marker = join(cache, 'python', Bun.hash(await Bun.file(file).text()).toString());
      if (existsSync(marker)) return;
      await $`python3 -m venv ${join(cache, 'python')}`.quiet();
      await $`${python} -m pip install --quiet --requirement ${file}`.quiet();
      await Bun.write(marker, '');
    },
  },
  Go: {
    sdks: [{ name: 'go-sdk', client: [join(cache, 'go/client')], server: [join(cache, 'go/server')], verifies: true }],
    build: () => $`go build -o ${join(cache, 'go')}/ ./...`.cwd(join(here, 'go')).quiet(),
  },
  Rust: {
    sdks: [{ name: 'rmcp', client: [join(cache, 'rust/debug/client')], server: [join(cache, 'rust/debug/server')] }],
    build: () => $`cargo build --quiet --locked --target-dir ${join(cache, 'rust')}`.cwd(join(here, 'rust')).quiet(),
  },
  Java: {
    sdks: [
      {
        name: 'Java SDK',
        client: [...java, join(here, 'java/Client.java')],
        server: [...java, join(here, 'java/Server.java')],
      },
    ],
    build: () =>
      $`mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=${join(cache, 'java')}`
        .cwd(join(here, 'java'))
        .quiet(),
  },
};

/** Builds what this machine can, and returns the SDKs, and why others are left out. */
export async function buildAll(): Promise<{ sdks: readonly Sdk[]; leftOut: readonly string[] }> {
  await mkdir(cache, { recursive: true });
  const sdks: Sdk[] = [];
  const leftOut: string[] = [];
  for (const [language, { sdks: own, build }] of Object.entries(languages)) {
    const why = await build().then(
      () => undefined,
      (error: unknown) =>
        error instanceof $.ShellError ? (error.stderr.toString().trim().split('\n').at(-1) ?? '') : String(error),
    );
    if (why === undefined) sdks.push(...own);
    else leftOut.push(`${language}: ${why}`);
  }
  return { sdks, leftOut };
}
