import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { fillIn, root, unknownSettings } from './settings.ts';

setDefaultTimeout(300_000);

const unit = 'protected-api@.service';
const unitFile = join(root, 'deploy/systemd', unit);

/** The instructions in the unit: the commands that install it, and those for the systemd that runs. */
const instructions = [...(await Bun.file(unitFile).text()).matchAll(/^# {3}(\w.*)$/gm)].map(
  ([, command = '']) => command,
);
const systemctlCommands = instructions.filter((command) => command.startsWith('systemctl '));

/** The root directory of the simulated machine on which the unit is installed. */
let machine: string;

beforeAll(async () => {
  machine = await mkdtemp(join(tmpdir(), 'protected-api-systemd-'));
  await executableForm.command();
  await cp('/usr/bin/env', join(machine, 'usr/bin/env'));
  for (const command of instructions.filter((each) => !systemctlCommands.includes(each))) {
    const onMachine = command.replace(/ (?=\/(?:usr|etc)\/)/g, ` ${machine}`);
    const { exitCode, stderr } = Bun.spawnSync(['sh', '-c', onMachine], { cwd: root, stderr: 'pipe' });
    if (exitCode !== 0) throw new Error(`${command}: ${stderr}`);
  }
});

afterAll(() => rm(machine, { recursive: true, force: true }));

describe('the systemd unit', () => {
  const analyze = (...args: readonly string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['systemd-analyze', '--no-pager', ...args]);
    return { exitCode, output: `${stdout}${stderr}` };
  };

  test('is understood by systemd, every line of it', () => {
    const verified = analyze(
      'verify',
      '--man=no',
      '--recursive-errors=no',
      `--root=${machine}`,
      'protected-api@1.service',
    );
    expect(verified).toEqual({ exitCode: 0, output: '' });
  });

  test('restricts the privileges of the service', () => {
    // In tenths: what a service with a network and a compiler cannot do without comes to 1.4 of 10.
    const { exitCode, output } = analyze('security', '--offline=true', '--threshold=15', unitFile);
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.any(String) });
  });

  test('sets nothing but settings of the service', async () => {
    const [, command = ''] = /^ExecStart=\S+ (.*)$/m.exec(await Bun.file(unitFile).text()) ?? [];
    const names = [...command.matchAll(/(\w+)=/g)].map(([, name = '']) => name);
    expect(names).toContain('REUSE_PORT');
    expect(await unknownSettings(names)).toEqual([]);
  });
});

/** Returns process 1 of the container as soon as its systemd takes commands. */
async function startedLeader(nspawnPid: number): Promise<string> {
  const child = async () => (await Bun.file(`/proc/${nspawnPid}/task/${nspawnPid}/children`).text()).trim();
  const isActive = (leader: string) =>
    Bun.spawnSync(['nsenter', '--all', '--target', leader, 'systemctl', 'is-active', 'nothing.target'])
      .stdout.toString()
      .trim() === 'active';
  await until(async () => (await child()) !== '' && isActive(await child()), 'a systemd that takes commands');
  return child();
}

/** A systemd of its own: process 1 of a container that shares only /usr with this machine. */
describe('two instances under systemd, in the sandbox of the unit', () => {
  const instances = ['protected-api@1.service', 'protected-api@2.service'];
  let nspawn: Bun.Subprocess;
  let issuer: Issuer;
  let origin: string;
  let leader: string;

  const systemctl = (...args: readonly string[]) =>
    Bun.spawnSync(['nsenter', '--all', '--target', leader, 'systemctl', ...args])
      .stdout.toString()
      .trim();
  const callScoped = () =>
    fetch(`${origin}/api/private-scoped`, {
      headers: { authorization: `Bearer ${mintToken(issuer.url)}`, connection: 'close' },
    });

  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    // The last two are for one instance only, and must not override what the unit sets for each.
    const settings = { ISSUER: issuer.url, AUDIENCE, HOST: '127.0.0.1', REUSE_PORT: 'false', METRICS_PORT: '9100' };
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const settingsFile = join(machine, 'etc/protected-api/settings.env');
    await Bun.write(settingsFile, fillIn(await Bun.file(settingsFile).text(), { ...settings, PORT: String(port) }));
    // Nothing of the host's own services is started: this target needs none of them.
    await Bun.write(join(machine, 'etc/systemd/system/nothing.target'), '[Unit]\nDescription=Nothing\n');
    const shown = ['usr/local/bin', 'etc/systemd/system', 'etc/protected-api'];
    nspawn = Bun.spawn(
      [
        'systemd-nspawn',
        ...['--quiet', '--directory=/', '--volatile=yes', '--machine=protected-api', '--register=no', '--keep-unit'],
        ...['--link-journal=no', ...shown.map((folder) => `--bind=${join(machine, folder)}:/${folder}`)],
        ...['--boot', 'systemd.unit=nothing.target', 'systemd.firstboot=no'],
      ],
      { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
    );
    leader = await startedLeader(nspawn.pid);
    for (const command of systemctlCommands) expect(systemctl(...command.split(' ').slice(1))).toBe('');
    // Each listens to its metrics after its requests.
    const listens = (metricsPort: number) =>
      fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(async () => (await Promise.all([9101, 9102].map(listens))).every(Boolean), 'two listening instances');
  });

  afterAll(async () => {
    nspawn.kill();
    await nspawn.exited;
    await issuer.close();
  });

  test('share the port and accept tokens', async () => {
    expect(systemctl('is-active', ...instances)).toBe('active\nactive');
    for (let count = 0; count < 20; count += 1) expect((await callScoped()).status).toBe(200);
  });

  test('have no root user, no capabilities, and only the allowed system calls', async () => {
    for (const instance of instances) {
      const pid = systemctl('show', '--value', '--property=MainPID', instance);
      const status = Bun.spawnSync([
        'nsenter',
        '--all',
        '--target',
        leader,
        'cat',
        `/proc/${pid}/status`,
      ]).stdout.toString();
      expect(status).toMatch(/^Uid:\t[1-9]\d*\t/m);
      expect(status).toMatch(/^CapBnd:\t0{16}$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
    }
  });

  test('stop one by one with status 0, while the other one answers', async () => {
    systemctl('stop', 'protected-api@1.service');
    const ended = systemctl('show', '--property=ActiveState,Result,ExecMainStatus', 'protected-api@1.service');
    expect(ended.split('\n').toSorted()).toEqual(['ActiveState=inactive', 'ExecMainStatus=0', 'Result=success']);
    for (let count = 0; count < 20; count += 1) expect((await callScoped()).status).toBe(200);
  });
});
