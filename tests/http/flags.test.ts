import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { freePort, run, runToEnd, untilItAnswers } from '../support/child-process.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';
import { AUDIENCE } from '../support/mint.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);

const FLAGS = ['--dev', '--help', '--version', '--healthcheck'];

function describeFlags(form: CommandForm): void {
  beforeAll(async () => void (await form.command()), form.startTimeoutMs);

  const runWith = async (flags: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    runToEnd([...(await form.command()), ...flags], environment);

  test('--help names every flag within 80 columns, whatever the settings', async () => {
    const { status, stdout, stderr } = await runWith(['--help'], { PORT: 'nonsense', NODE_ENV: 'production' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const flag of FLAGS) expect(stdout).toContain(flag);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('--version prints the version of the package', async () => {
    expect(await runWith(['--version'])).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  });

  for (const flag of ['--nope', '-x', '--devel', '--dev=yes', 'serve']) {
    test(`${flag} is refused in one line that names it`, async () => {
      const { status, stdout, stderr } = await runWith([flag]);
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(flag)]);
    });
  }

  test('--healthcheck is 0 while an instance answers on PORT, and 1 after it has ended', async () => {
    const port = String(await freePort());
    // The issuer cannot be reached, which is no reason to restart the service.
    const environment = { HOST: '127.0.0.1', PORT: port, ISSUER: `http://127.0.0.1:${await freePort()}/`, AUDIENCE };
    const service = run(await form.command(), environment);
    await untilItAnswers(`http://127.0.0.1:${port}`, service);
    expect(await runWith(['--healthcheck'], environment)).toEqual({ status: 0, stdout: '', stderr: '' });

    service.signal('SIGTERM');
    expect((await service.finished).status).toBe(0);
    expect((await runWith(['--healthcheck'], environment)).status).toBe(1);
  });

  test('--healthcheck reaches an instance on the default HOST', async () => {
    const port = String(await freePort());
    const environment = { PORT: port, ISSUER: `http://127.0.0.1:${await freePort()}/`, AUDIENCE };
    const service = run(await form.command(), environment);
    await untilItAnswers(`http://127.0.0.1:${port}`, service);
    expect((await runWith(['--healthcheck'], environment)).status).toBe(0);
    service.signal('SIGINT');
    expect((await service.finished).status).toBe(0);
  });
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
