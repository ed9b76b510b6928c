import { expect, setDefaultTimeout, test } from 'bun:test';
import { renderBanner } from '../../src/dev/banner.ts';
import { createServiceIssuer } from '../../src/dev/issuer.ts';
import { readSettings } from '../../src/settings.ts';
import { type Environment, runToEnd, until } from '../support/child-process.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';
import { statusesIn } from '../support/raw-http.ts';
import { readJsonLines } from '../support/recorded-log.ts';

// A process starts slowly on a busy machine, and the first one may build the executable.
setDefaultTimeout(120_000);

const unmet = { ALGORITHMS: 'ES256', SCOPE_CLAIM: 'scp', REQUIRED_CLAIMS: 'tid=t' };
const starts: readonly [name: string, form: CommandForm, flags: readonly string[], ignored: Environment][] = [
  ['no settings at all', sourceForm, [], {}],
  ['--dev in production', executableForm, ['--dev'], {}],
  ['--dev with another issuer configured', executableForm, ['--dev'], { ISSUER: 'https://a.test/', AUDIENCE: 'x' }],
  ['settings that its own tokens do not satisfy', executableForm, [], unmet],
];

test.each(starts)('the service with %s prints commands that show 200 three times, then 401 and 403', async (...row) => {
  const [, form, flags, ignored] = row;
  const settings = { HOST: '', ...(flags.length > 0 && { NODE_ENV: 'production' }), ...ignored };
  const { process: service } = await form.start(settings, flags);
  // Everything is printed before this line of the log.
  await until(() => service.stdout().includes('"msg":"Listening"'), 'the service to listen');
  const banner = service.stderr();
  expect(banner).not.toContain('\u001b');
  // A quote in the prose would begin a text of the shell.
  expect(banner.match(/^: .*['"`].*$/gm)).toBeNull();
  for (const line of banner.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);

  const commands = banner.match(/^(?:export|curl) .*(?:\n {2}.*)*/gm) ?? [];
  const pasted = await runToEnd(['bash', '-c', commands.join('\n')], { PATH: process.env.PATH ?? '' });
  const shown = pasted.stdout + pasted.stderr;
  expect(statusesIn(shown), shown).toEqual([200, 200, 200, 401, 403]);
  expect(shown).toContain('"authorization_header_missing"');
  expect(shown).toContain('"Unauthorized"');

  service.signal('SIGTERM');
  const { stdout } = await service.finished;
  const warned = readJsonLines(stdout).flatMap(({ settings = [] }) => settings as string[]);
  expect(warned.sort()).toEqual(Object.keys(ignored).sort());
  const secrets = [...banner.matchAll(/client_secret=(\S+)/g)].map(([, secret = '']) => secret);
  expect(secrets).toHaveLength(2);
  for (const secret of secrets) expect(stdout).not.toContain(secret);
});

/** Starts the service on a terminal of 80 columns and 24 rows, and returns what it wrote once it holds its keys. */
async function seen(form: CommandForm, environment: Environment = {}): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  const data = (_terminal: unknown, bytes: Uint8Array) => {
    text += decoder.decode(bytes, { stream: true });
  };
  const env = { PORT: '0', TERM: 'xterm', ...environment };
  const child = Bun.spawn([...(await form.command())], { env, terminal: { cols: 80, rows: 24, data } });
  await until(() => text.includes('Listening'), 'the service to listen');
  // As a terminal that is closed.
  child.kill('SIGHUP');
  expect(await child.exited).toBe(0);
  return text.replaceAll('\r\n', '\n');
}

/** The lines without colours that are not of the log, which begin with a time. */
const bannerOf = (text: string) => Bun.stripANSI(text).replace(/^\[.*$\n/gm, '');

test('the banner on a terminal shows its URLs last and without scrolling, and is the same without colour', async () => {
  const text = await seen(sourceForm);
  expect(text).toContain('\u001b');
  const lines = bannerOf(text).trim().split('\n');
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
  const urls = [/^: Documentation {2}http:\/\/localhost:\d+\/openapi$/, /^: Protected API {2}http:\/\/localhost:\d+$/];
  expect(lines.slice(-2)).toEqual(urls.map((url) => expect.stringMatching(url)));
  const rows = Bun.stripANSI(text)
    .replaceAll(/.{80}(?=.)/g, '$&\n')
    .split('\n');
  expect(rows.slice(-24)).toEqual(expect.arrayContaining(lines.slice(-2)));

  const plain = await seen(executableForm, { NO_COLOR: '1', DOCS: 'false' });
  expect(plain).not.toContain('\u001b');
  expect(plain).not.toContain('/openapi');
  const constant = (text: string) => bannerOf(text).replace(/:\d+|secret=\w+|^: Documentation.*\n/gm, '');
  expect(constant(plain)).toBe(constant(text));
});

test('the commands of the banner are right for every character that PUBLIC_URL may contain', async () => {
  const accepts = (path: string) => {
    try {
      return readSettings({ PUBLIC_URL: `https://x.test/${path}` }, true) !== undefined;
    } catch {
      return false;
    }
  };
  const characters = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code));
  const url = `https://[::1]/${characters.filter((character) => accepts(`a${character}b`)).join('')}`;
  expect(accepts(url)).toBe(true);
  const issuer = createServiceIssuer(url, () => ['read:messages']);
  const banner = renderBanner(issuer, { hasDocumentation: true, hasColour: false });
  const curl = `curl() { printf '%s\\n' "$@" >&2; }\n`;
  const { stdout, stderr } = await runToEnd(['bash', '-c', curl + banner], { PATH: process.env.PATH ?? '' });
  const sent = stderr.split('\n').filter((argument) => argument.includes('//'));
  const calls = ['public', 'private', 'private-scoped', 'private', 'private-scoped'].map(
    (path) => `${url}/api/${path}`,
  );
  const requests = [`${url}/oauth/token`, `audience=${url}`];
  expect({ sent, stdout }).toEqual({ sent: [...requests, ...requests, ...calls], stdout: '' });
});
