import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { renderBanner } from '../../src/dev/banner.ts';
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
  [
    '--dev with another issuer configured',
    executableForm,
    ['--dev'],
    { ISSUER: 'https://a.example.test/', AUDIENCE: 'x' },
  ],
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
  await until(() => text.includes('Key set fetched'), 'the service to fetch its keys');
  child.kill();
  await child.exited;
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

describe('renderBanner()', () => {
  const options = { hasDocumentation: true, hasColour: false };
  const render = (origin: string) => renderBanner(origin, new Map([['reader', 'x']]), options);

  const special = ['$(id)', '`id`', ';id', '&id', '>file', '"', "'", '\\', '\u001b[2J', '\n', ' ', ...'*(!#~'];
  test.each(special)('escapes %j in a URL for the shell and the terminal', (text) => {
    const encode = (letter: string) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;
    const banner = render(`https://x.test/${text}`);
    expect(banner).not.toContain(`x.test/${text}`);
    expect(banner.toLowerCase()).toContain(`x.test/${text.replace(/[^\w[]/g, encode)}`.toLowerCase());
  });

  test('encodes an audience as a form value, so that it arrives unchanged', () => {
    const audience = 'https://x.test/a+b&c=%41';
    const [, value] = /-d audience=(\S+)/.exec(render(audience)) ?? [];
    expect(new URLSearchParams(`audience=${value}`).get('audience')).toBe(audience);
  });

  test('quotes each URL with the brackets of an IPv6 address, which zsh treats as a pattern', () => {
    const quotes = render('http://[::1]:3010').match(/.(?=http:\/\/\[::1\])/g);
    expect(quotes?.join('')).toBe("'".repeat(9));
  });
});
