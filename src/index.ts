import { isatty } from 'node:tty';
import packageJson from '../package.json' with { type: 'json' };
import { fail, print, readFlags, readToken, usage } from './cli.ts';
import { explainToken } from './explain/explain.ts';
import { renderExplanation } from './explain/render.ts';
import { isLive, serve } from './process.ts';
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
if (help) print(1, usage);
else if (version) print(1, `${packageJson.version}\n`);
// Only HOST and PORT, because a container's health check lacks the flags of its service.
else if (healthcheck) process.exit((await isLive(host || '0.0.0.0', Number(port || 3010))) ? 0 : 1);
else if (explain) {
  const settings = readSettingsOrFail(dev);
  if (isatty(0)) print(2, 'Paste a token, then press Enter and Ctrl-D\n');
  const token = readToken(await Bun.stdin.text());
  const explanation = await explainToken(token, { settings, options: settings.optionsAt(settings.port) });
  print(1, renderExplanation(explanation, isatty(1) && !NO_COLOR));
  process.exit(explanation.status === 200 ? 0 : 1);
} else await serve(readSettingsOrFail(dev), !NO_COLOR);
