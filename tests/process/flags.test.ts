import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { freePort, run, runToEnd, untilItAnswers } from '../support/child-process.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);

const FLAGS = ['--dev', '--explain', '--help', '--version', '--healthcheck'];

function describeFlags(form: CommandForm): void {
  beforeAll(async () => void (await form.command()), form.startTimeoutMs);

  const runWith = async (flags: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    runToEnd([...(await form.command()), ...flags], environment);

  test('--help names every flag within 80 columns, with any settings', async () => {
    const { status, stdout, stderr } = await runWith(['--help'], { PORT: 'nonsense', NODE_ENV: 'production' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const flag of FLAGS) expect(stdout).toContain(flag);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('--version prints the version of the package', async () => {
    expect(await runWith(['--version'])).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  });

  for (const flag of ['--nope', '-x', '--devel', '--dev=yes', 'serve']) {
    test(`rejects ${flag} in one line that names it`, async () => {
      const { status, stdout, stderr } = await runWith([flag]);
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(flag)]);
    });
  }

  test('--explain reads a token from standard input, exits with 0 if it is accepted, and does not listen', async () => {
    const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
    const environment = { ISSUER: issuer.url, AUDIENCE, HOST: '127.0.0.1', PORT: String(taken.port) };
    for (const { before, claims, status, last } of [
      { before: '', claims: {}, status: 0, last: '200: Token is accepted' },
      { before: ' Authorization: Bearer ', claims: {}, status: 0, last: '200: Token is accepted' },
      { before: '', claims: { scope: '' }, status: 0, last: '200: Token is accepted' },
      { before: '', claims: { exp: 1 }, status: 1, last: '401 token_expired: the client must request a new token' },
    ]) {
      const token = mintToken(issuer.url, { claims });
      const command = ['/bin/sh', '-c', 'echo "$INPUT" | exec "$@" --explain', 'sh', ...(await form.command())];
      const finished = await runToEnd(command, { ...environment, INPUT: before + token });
      expect({ status: finished.status, stderr: finished.stderr }).toEqual({ status, stderr: '' });
      expect(finished.stdout.trimEnd().split('\n').at(-1)).toBe(last);
      expect(finished.stdout).not.toContain(token.slice(-20));
    }
    await taken.stop(true);
    await issuer.close();
  });

  test('--explain reports wrong settings as the service does', async () => {
    const { status, stdout, stderr } = await runWith(['--explain'], { ISSUER: 'x', AUDIENCE });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^Cannot read settings:\n {2}ISSUER must be /);
  });

  test('--healthcheck is 0 while an instance answers on PORT, and 1 after it has ended', async () => {
    const port = String(await freePort());
    // The issuer is unreachable. The service must not be restarted for that.
    const environment = { PORT: port, ISSUER: `http://127.0.0.1:${await freePort()}/`, AUDIENCE };
    const service = run(await form.command(), environment);
    await untilItAnswers(`http://127.0.0.1:${port}`, service);
    expect(await runWith(['--healthcheck'], environment)).toEqual({ status: 0, stdout: '', stderr: '' });

    service.signal('SIGTERM');
    expect((await service.finished).status).toBe(0);
    expect((await runWith(['--healthcheck'], environment)).status).toBe(1);
  });

  test('--healthcheck reads only HOST and PORT: it needs no --dev to check an instance with --dev', async () => {
    const port = String(await freePort());
    const service = run([...(await form.command()), '--dev'], { PORT: port });
    await untilItAnswers(`http://127.0.0.1:${port}`, service);
    const environment = { PORT: port, NODE_ENV: 'production', ISSUER: 'nonsense', METRICS_PORT: 'nonsense' };
    expect(await runWith(['--healthcheck'], environment)).toEqual({ status: 0, stdout: '', stderr: '' });
    service.signal('SIGINT');
    expect((await service.finished).status).toBe(0);
  });

  for (const { name, answer } of [
    { name: '500', answer: () => new Response(null, { status: 500 }) },
    { name: '404', answer: () => new Response(null, { status: 404 }) },
    {
      name: 'a redirect to what answers 200',
      answer: () => new Response(null, { status: 302, headers: { location: '/' } }),
    },
  ]) {
    test(`--healthcheck is 1 when /livez answers ${name}`, async () => {
      const fetch = ({ url }: Request) => (url.endsWith('/livez') ? answer() : new Response());
      await using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch });
      const environment = { HOST: '127.0.0.1', PORT: String(server.port) };
      expect(await runWith(['--healthcheck'], environment)).toEqual({ status: 1, stdout: '', stderr: '' });
    });
  }

  for (const PORT of ['0', '-1', '70000', 'nonsense']) {
    test(`--healthcheck is 1 without a stack trace when PORT is ${PORT}`, async () => {
      expect(await runWith(['--healthcheck'], { PORT })).toEqual({ status: 1, stdout: '', stderr: '' });
    });
  }
}

for (const form of [sourceForm, executableForm]) describe(form.name, () => describeFlags(form));

test(
  'the executable ignores .env and bunfig.toml of the folder it is started in',
  async () => {
    const files = {
      '.env': 'ISSUER=https://planted.example.test/\nAUDIENCE=planted\n',
      'bunfig.toml': 'preload = ["./preload.ts"]\n',
      'preload.ts': 'process.stdout.write("planted"); process.exit(0);\n',
    };
    const command = await executableForm.command();
    const { status, stdout, stderr } = await runToEnd(command, { NODE_ENV: 'production', PORT: '0' }, files);
    expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' });
    expect(stderr).not.toContain('planted');
  },
  executableForm.startTimeoutMs,
);
