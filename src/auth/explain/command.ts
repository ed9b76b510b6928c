import { parseArgs } from 'node:util';
import { optionsFromEnvironment } from '../options/environment.ts';
import { mayReadVariable } from '../values/runtime.ts';
import { explainToken } from './explain-token.ts';

const usage = `Usage: protected-api explain [--scope <scope>]...

Reads a token from standard input and prints the result of each check. Exits
with 0 if a request with the token gets a 200, otherwise with 1.

  --scope  a scope that the request requires; repeat it for several

The guard's options are read from environment variables: ISSUER, AUDIENCE and
the others that optionsFromEnvironment() reads, such as SCOPE_CLAIM. Without
ISSUER and AUDIENCE, it prints the settings that would accept the token, or why
none does.
`;

const pasteHint = `Paste a token, then press Enter and Ctrl-D. In a browser:
https://protected-api.github.io/protected-api/explain
`;

function readFlags(args: readonly string[]) {
  try {
    const options = { scope: { type: 'string', multiple: true }, help: { type: 'boolean', short: 'h' } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch {
    // The message of parseArgs would echo an argument, which may be a token.
    throw new TypeError(
      'Cannot read flags: see protected-api explain --help. Paste a token, or pipe it to standard input',
    );
  }
}

/** Explains the token on standard input. */
export async function run(args: readonly string[], readInput: () => Promise<string>): Promise<void> {
  const { scope, help } = readFlags(args);
  if (help) return void process.stdout.write(usage);
  const unreadable = ['ISSUER', 'AUDIENCE'].filter((name) => !mayReadVariable(name));
  if (unreadable.length === 1) throw new TypeError(`Cannot read ${unreadable}: add --allow-env`);
  if (unreadable.length > 1)
    process.stderr.write('Cannot read ISSUER and AUDIENCE, so they count as unset: add --allow-env\n');
  // Without them, the token is asked for what they would be.
  const isSet = unreadable.length === 0 && (process.env.ISSUER || process.env.AUDIENCE);
  const options = isSet ? optionsFromEnvironment(process.env) : {};
  if (process.stdin.isTTY) process.stderr.write(pasteHint);
  const requirements = scope && { scope };
  const input = await readInput();
  if (input.trim() === '') throw new TypeError('Cannot explain a token: standard input is empty');
  const explanation = await explainToken(input, options, { words: 'settings', requirements });
  const isPlain = mayReadVariable('NO_COLOR') && process.env.NO_COLOR;
  process.stdout.write(explanation.render(process.stdout.isTTY && !isPlain));
  process.exitCode = explanation.status === 200 ? 0 : 1;
}
