import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { renderBanner } from '../../src/dev/banner.ts';
import { freePort, type RunningProcess, run, runToEnd, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm, sourceForm } from '../support/forms.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);

const CALLS = /^(?:curl |export \w+=\$\(curl )/;

/** Returns the commands among the lines that were printed, each with the lines that go on from it. */
function commandsIn(banner: string): string {
  const commands: string[] = [];
  let goesOn = false;
  for (const line of banner.split('\n')) {
    if (goesOn || CALLS.test(line)) {
      commands.push(line);
      goesOn = /[\\|]\s*$/.test(line);
    }
  }
  return commands.join('\n');
}

async function paste(banner: string): Promise<{ statuses: number[]; output: string }> {
  const { stdout, stderr } = await runToEnd(['bash', '-c', commandsIn(banner)], { PATH: process.env.PATH ?? '' });
  const statuses = [...stdout.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
  return { statuses, output: stdout + stderr };
}

const starts = [
  { name: 'no settings at all', flags: [], environment: {}, form: sourceForm },
  { name: '--dev', flags: ['--dev'], environment: {}, form: executableForm },
  { name: '--dev in production', flags: ['--dev'], environment: { NODE_ENV: 'production' }, form: sourceForm },
  {
    name: '--dev beside settings for another issuer',
    flags: ['--dev'],
    environment: { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'https://api.example.test/' },
    form: executableForm,
  },
  {
    name: 'settings that its own tokens do not fulfil',
    flags: [],
    environment: { ALGORITHMS: 'ES256', SCOPE_CLAIM: 'scp', REQUIRED_CLAIMS: 'tid=t' },
    form: sourceForm,
  },
] as const;

async function stop(service: RunningProcess): Promise<void> {
  service.signal('SIGTERM');
  await service.finished;
}

for (const { name, flags, environment, form } of starts) {
  describe(`${form.name} with ${name}`, () => {
    test(
      'prints commands that show 200 three times, then 401 and 403, when they are pasted',
      async () => {
        const port = String(await freePort());
        const service = run([...(await form.command()), ...flags], { PORT: port, ...environment });
        try {
          await untilItAnswers(`http://127.0.0.1:${port}`, service);
          const { statuses, output } = await paste(service.stderr());
          expect(statuses, output).toEqual([200, 200, 200, 401, 403]);
          expect(output).toContain('"authorization_header_missing"');
          expect(output).toContain('"Unauthorized"');
        } finally {
          await stop(service);
        }
      },
      form.startTimeoutMs,
    );

    test(
      'prints them on stderr in at most 80 columns without colour, and only JSON lines on stdout',
      async () => {
        const port = String(await freePort());
        const service = run([...(await form.command()), ...flags], { PORT: port, ...environment });
        await untilItAnswers(`http://127.0.0.1:${port}`, service);
        await until(() => service.stdout().includes('\n'), 'a line on stdout');
        await stop(service);
        expect(service.stderr()).not.toContain('\u001b');
        for (const line of service.stderr().split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
        const lines = service
          .stdout()
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { settings?: string[] });
        const ignored = lines.flatMap(({ settings = [] }) => settings);
        expect(ignored.sort()).toEqual(name.startsWith('settings') ? Object.keys(environment).sort() : []);
        const secrets = [...service.stderr().matchAll(/client_secret=(\S+)/g)].map(([, secret = '']) => secret);
        expect(secrets.length).toBeGreaterThan(0);
        for (const secret of secrets) expect(service.stdout()).not.toContain(secret);
      },
      form.startTimeoutMs,
    );
  });
}

describe('renderBanner()', () => {
  const client = { id: 'reader', secret: 'x', scope: '' };
  const render = (origin: string) =>
    renderBanner({
      origin,
      audience: origin,
      clients: { reader: client, visitor: client },
      hasDocumentation: true,
      hasColour: false,
    });

  for (const text of [
    '$(id)',
    '`id`',
    ';id',
    '&id',
    '>file',
    '"',
    "'",
    '\\',
    '\u001b[2J',
    '\n',
    ' ',
    '*',
    '(',
    '!',
    '#',
    '~',
  ])
    test(`escapes ${JSON.stringify(text)} in an address for the shell and the terminal`, () => {
      const encoded = [...text].map((letter) =>
        /[\w[]/.test(letter) ? letter : `%${letter.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
      );
      const banner = render(`https://x.test/${text}`);
      expect(banner).not.toContain(`x.test/${text}`);
      expect(banner.toUpperCase()).toContain(`X.TEST/${encoded.join('').toUpperCase()}`);
    });

  test('encodes an audience as a form value, so that it arrives unchanged', () => {
    const audience = 'https://x.test/a+b&c=%41';
    const [, value] = /-d audience=(\S+)/.exec(render(audience)) ?? [];
    expect(new URLSearchParams(`audience=${value}`).get('audience')).toBe(audience);
  });

  test('quotes the brackets of an IPv6 address, which zsh treats as a pattern', () => {
    expect(render('http://[::1]:3010')).toContain("curl -iw '\\n\\n' 'http://[::1]:3010/api/public'");
  });
});

test(
  'with an issuer of its own settings nothing is printed for a person, and nobody gets a token',
  async () => {
    const port = await freePort();
    const environment = {
      HOST: '127.0.0.1',
      PORT: String(port),
      ISSUER: `http://127.0.0.1:${await freePort()}/`,
      AUDIENCE: 'x',
    };
    const service = run(await sourceForm.command(), environment);
    await untilItAnswers(`http://127.0.0.1:${port}`, service);
    const response = await fetch(`http://127.0.0.1:${port}/oauth/token`, { method: 'POST' });
    await stop(service);
    expect(response.status).toBe(404);
    expect(service.stderr()).toBe('');
  },
  sourceForm.startTimeoutMs,
);
