import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';

export const usage = `Usage: protected-api [--dev] [--explain] [--healthcheck] [--help] [--version]

  --dev          run a development issuer
  --explain      read a token from standard input and print the result of each
                 check; exits with 0 if it is accepted, otherwise with 1
  --healthcheck  check the instance running on this machine (HOST and PORT);
                 exits with 0 if it is live, otherwise with 1
  --help         show this help
  --version      show the version

Settings are environment variables; docs/settings.md lists them all.

  ISSUER         issuer of the accepted tokens: https://<domain>/
  AUDIENCE       API identifier that tokens must carry in aud
  PORT           port to listen on; defaults to 3010

If neither ISSUER nor AUDIENCE is set and NODE_ENV is not production,
--dev is implied.
`;

const flags = {
  dev: { type: 'boolean', default: false },
  explain: { type: 'boolean', default: false },
  healthcheck: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
} as const;

/** Writes to standard output (1) or standard error (2). If that fails, such as on a full disk, the text is lost. */
export function print(descriptor: 1 | 2, text: string): void {
  try {
    writeSync(descriptor, text);
  } catch {
    // This failure cannot be reported anywhere.
  }
}

/** Exits with one line and no stack trace, for a mistake of the operator. */
export function fail(message: string): never {
  print(2, `${message}\n`);
  process.exit(1);
}

/** Returns the flags among these arguments. Any other argument ends the process. */
export function readFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags }).values;
  } catch {
    const known = Object.keys(flags).map((name) => `--${name}`);
    const culprit = args.find((argument) => !known.includes(argument));
    // It may be a token, which is not for logs.
    const shown = JSON.stringify(culprit?.replace(/(?<=^.{16}).+/s, '...'));
    return fail(
      `Cannot read flags: ${shown} is not one of ${known.join(', ')}. Settings are environment variables: PORT=3011`,
    );
  }
}
