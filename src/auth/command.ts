#!/usr/bin/env node
/*
 * The command `npx protected-api`. Each word is in the room that its import names, and is loaded when it is given.
 */
export interface Word {
  /** Gets the arguments after the word. Throws a `TypeError` for a mistake in them or in the settings. */
  readonly run: (args: readonly string[], readInput: () => Promise<string>) => Promise<void>;
}

/** Each word, what it does, and its function of the arguments after it. */
const words: Readonly<Record<string, readonly [does: string, load: () => Promise<Word>]>> = {
  explain: ['says why a token is accepted or rejected', () => import('./explain/command.ts')],
  issuer: ['starts an issuer for development', () => import('./testing/command.ts')],
};

const usage = `Usage: protected-api <command> [flag]...

${Object.entries(words)
  .map(([word, [does]]) => `  ${word.padEnd(8)} ${does}`)
  .join('\n')}

protected-api <command> --help describes its flags.
`;

/** Reads standard input. A token has at most 16 KiB, so more than a megabyte is another file. */
async function readInput(): Promise<string> {
  let input = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    input += chunk;
    if (input.length > 1_000_000) throw new TypeError('Cannot read a token: standard input has more than a megabyte');
  }
  return input;
}

const [word = '', ...args] = process.argv.slice(2);
const found = Object.hasOwn(words, word) ? words[word] : undefined;
try {
  if (found) await (await found[1]()).run(args, readInput);
  else if (word === '--help' || word === '-h') process.stdout.write(usage);
  else if (word === 'probe')
    throw new TypeError('Cannot run: the probe is a package of its own, npx protected-api-probe');
  // Not echoed, because it may be a token.
  else
    throw new TypeError(
      `Cannot run: the first argument must be one of ${Object.keys(words).join(', ')}: see protected-api --help`,
    );
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
