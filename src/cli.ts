import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { escapeUnprintable } from './observe/escape.ts';
import { quote } from './setting-kinds.ts';

export const usage = `Usage: protected-api [--dev] [--explain] [--healthcheck] [--help] [--version]

  --dev          run the service with the development issuer
  --explain      read a token from standard input and print the result of each
                 check; exit with 0 if the scoped endpoint would accept the
                 token, otherwise with 1; without ISSUER and AUDIENCE, print
                 the settings that would accept the token
  --healthcheck  check the instance running on this machine (HOST and PORT);
                 exit with 0 if it is live, otherwise with 1
  -h, --help     show this help
  --version      show the version

Settings are environment variables. All of them are listed at
https://protected-api.github.io/protected-api/settings

  ISSUER         issuer whose tokens are accepted, such as https://<domain>/
  AUDIENCE       identifier of this API, which tokens must have in aud
  PORT           port to listen on; defaults to 3010

If neither ISSUER nor AUDIENCE is set and NODE_ENV is not production,
--dev is implied.
`;

export const pasteHint = `Paste a token, then press Enter and Ctrl-D. In a browser:
https://protected-api.github.io/protected-api/explain
`;

const flags = {
  dev: { type: 'boolean' },
  explain: { type: 'boolean' },
  healthcheck: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** Returns what a function returns, or undefined if it throws. */
export function ifPossible<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Writes to standard output (1) or standard error (2). If that fails, such as on a full disk, the text is lost. */
export const print = (descriptor: 1 | 2, text: string) => void ifPossible(() => writeSync(descriptor, text));

/** Exits with one line and no stack trace, for a mistake of the operator. */
export function fail(message: string): never {
  print(2, `${message}\n`);
  process.exit(1);
}

/** Returns the flags among these arguments. Any other argument ends the process. */
export function readFlags(args: string[]) {
  const { tokens } = parseArgs({ args, options: flags, strict: false, tokens: true });
  const culprit = tokens.find(
    (token) => token.kind !== 'option' || !(token.name in flags) || token.value !== undefined,
  );
  // The message of parseArgs would echo all of it, and it may be a token.
  const shown = culprit && args[culprit.index]?.replace(/(?<=^.{16}).+/s, '...');
  if (shown !== undefined) fail(`Cannot read flags: ${quote(shown)} is not a flag: see --help`);
  return parseArgs({ args, options: flags }).values;
}

/** Returns an address as URLs and messages have it. */
export const formatAddress = (host: string, port: number) => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Where a listener on all addresses responds on this machine. `::` includes IPv4, and without IPv6 is only that. */
const localHosts: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0': ['127.0.0.1'],
  '::': ['::1', '127.0.0.1'],
};

/** Returns undefined if an instance on this machine responds to `/livez` with 200, otherwise the reason in one line. */
export async function findFault(host: string, port: number): Promise<string | undefined> {
  const faults = await Promise.all(
    (localHosts[host] ?? [host]).map((local) => findFaultAt(formatAddress(local, port))),
  );
  return faults.includes(undefined) ? undefined : faults[0];
}

async function findFaultAt(address: string): Promise<string | undefined> {
  const url = `http://${address}/livez`;
  const describe = (fault: string) => escapeUnprintable(`Not live: ${url} ${fault}`);
  try {
    // A proxy named in the environment cannot reach this process.
    const { status } = await fetch(url, { proxy: false, redirect: 'manual', signal: AbortSignal.timeout(2000) });
    return status === 200 ? undefined : describe(`returned the status ${status}`);
  } catch (error) {
    return describe(`cannot be reached: ${String(Object(error).code ?? Object(error).name)}`);
  }
}
