import { isatty } from 'node:tty';
import { explainToken } from 'protected-api/explain';
import packageJson from '../package.json' with { type: 'json' };
import { fail, findFault, print, readFlags, usage } from './cli.ts';
import { serve } from './process.ts';
import { messagesScope } from './routes/messages.ts';
import { readSettings, type Settings, SettingsError } from './settings.ts';

function readSettingsOrFail(isDev: boolean): Settings {
  try {
    return readSettings(process.env, isDev);
  } catch (error) {
    if (error instanceof SettingsError) return fail(error.message);
    throw error;
  }
}

const { engines, packageManager } = packageJson;
if (!Bun.semver.satisfies(Bun.version, engines.bun))
  fail(`Cannot start: requires Bun ${engines.bun}, got ${Bun.version}. Run npm install --global ${packageManager}`);

const { dev, explain, healthcheck, help, version } = readFlags(process.argv.slice(2));
const { HOST: host, PORT: port, NO_COLOR } = process.env;
// If a signal ends the process before the result is known, this is its status.
if (healthcheck || explain) process.exitCode = 1;
if (help) print(1, usage);
else if (version) print(1, `${packageJson.version}\n`);
// Only HOST and PORT, because a container's health check lacks the flags of its service.
else if (healthcheck) {
  const fault = await findFault(host || '0.0.0.0', port || 3010);
  if (fault !== undefined) fail(fault);
  process.exit(0);
} else if (explain) {
  const settings = readSettingsOrFail(dev);
  if (isatty(0)) print(2, 'Paste a token, then press Enter and Ctrl-D\n');
  const as = { requirements: { scope: messagesScope }, words: 'settings' } as const;
  const explanation = await explainToken(await Bun.stdin.text(), settings.optionsAt(settings.port), as);
  print(1, explanation.render(isatty(1) && !NO_COLOR));
  process.exit(explanation.isAccepted ? 0 : 1);
} else await serve(readSettingsOrFail(dev), !NO_COLOR);
