import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { explainToken } from 'protected-api/explain';
import packageJson from '../package.json' with { type: 'json' };
import { fail, findFault, ifPossible, pasteHint, print, readFlags, usage } from './cli.ts';
import { formatRejection } from './errors.ts';
import { serve } from './process.ts';
import { messagesScope } from './routes/messages.ts';
import { readAddress, readSettings, SettingsError } from './settings.ts';

function readOrFail<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof SettingsError) return fail(error.message);
    throw error;
  }
}

/** Returns the names of the variables that the process was started with, not those of `.env`; undefined if unknown. */
const namesAtStart = () =>
  ifPossible(() => readFileSync('/proc/self/environ', 'utf8'))
    ?.split('\0')
    .map((line) => line.replace(/=.*/s, ''));

const { engines, packageManager } = packageJson;
if (!Bun.semver.satisfies(Bun.version, engines.bun))
  fail(`Cannot start: requires Bun ${engines.bun}, got ${Bun.version}. Run npm install --global ${packageManager}`);

const { dev = false, explain, healthcheck, help, version } = readFlags(process.argv.slice(2));
const { NO_COLOR } = process.env;
const readAll = () => readSettings(process.env, dev, namesAtStart());
// If a signal ends the process before the result is known, this is its status.
if (healthcheck || explain) process.exitCode = 1;
if (help) print(1, usage);
else if (version) print(1, `${packageJson.version}\n`);
// Only HOST and PORT, because a container's health check lacks the flags of its service.
else if (healthcheck) {
  const { host, port } = readOrFail(() => readAddress(process.env));
  const fault = await findFault(host, port);
  if (fault !== undefined) fail(fault);
  process.exit(0);
} else if (explain) {
  const { ISSUER, AUDIENCE } = process.env;
  // Without settings, the token is asked for what they would be.
  const settings = dev || ISSUER?.trim() || AUDIENCE?.trim() ? readOrFail(readAll) : undefined;
  if (isatty(0)) print(2, pasteHint);
  let text = '';
  for await (const chunk of Bun.stdin.stream().pipeThrough(new TextDecoderStream())) {
    text += chunk;
    // A token has at most 16 KiB, so this is another file.
    if (text.length > 1_000_000) fail('Cannot explain a token: standard input has more than a megabyte');
  }
  if (text.trim() === '') fail('Cannot explain a token: standard input is empty');
  const as = { requirements: { scope: messagesScope }, words: 'settings' } as const;
  const options = settings ? { ...settings.optionsAt(settings.port), formatRejection } : {};
  const explanation = await explainToken(text, options, as);
  print(1, explanation.render(isatty(1) && !NO_COLOR));
  process.exit(explanation.status === 200 ? 0 : 1);
} else await serve(readOrFail(readAll), !NO_COLOR);
