import { afterAll, describe, expect, test } from 'bun:test';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { until } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, mintToken } from '../support/mint.ts';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { fillIn, unknownSettings } from './checks.ts';
import { bootSystemd } from './machine.ts';

const unitFile = join(root, 'deploy/systemd/protected-api@.service');
const instances = ['protected-api@1.service', 'protected-api@2.service'];

const text = await Bun.file(unitFile).text();
/** The instructions in the unit: the commands that install it, and those for the systemd that runs. */
const { install = [], systemctl: systemctlCommands = [] } = Object.groupBy(
  [...text.matchAll(/^# {3}(\w.*)$/gm)].map(([, command = '']) => command),
  (command) => (command.startsWith('systemctl ') ? 'systemctl' : 'install'),
);

/** The root directory of the simulated machine on which the unit is installed. */
const machine = temporaryFolder();

await executableForm.command();
for (const command of ['usr/bin/env', 'usr/bin/kill']) await cp(`/${command}`, join(machine, command));
for (const command of install)
  await $`sh -c ${command.replace(/ (?=\/(?:usr|etc)\/)/g, ` ${machine}`)}`.cwd(root).quiet();

describe('the systemd unit', () => {
  test('has no line that systemd does not understand', async () => {
    const flags = ['--no-pager', '--man=no', '--recursive-errors=no', `--root=${machine}`];
    const { stdout, stderr } = await $`systemd-analyze verify ${flags} ${instances[0]}`.quiet();
    expect(`${stdout}${stderr}`).toBe('');
  });

  test('restricts the privileges of the service', async () => {
    // In tenths: a service that needs a network and a compiler gets at least 1.4 of 10.
    const flags = ['--no-pager', '--offline=true', '--threshold=15'];
    const { exitCode, stdout } = await $`systemd-analyze security ${flags} ${unitFile}`.nothrow().quiet();
    expect(exitCode, stdout.toString()).toBe(0);
  });

  test('sets nothing but settings of the service', async () => {
    const [, command = ''] = /^ExecStart=\S+ (.*)$/m.exec(text) ?? [];
    const names = [...command.matchAll(/(\w+)=/g)].map(([, name = '']) => name);
    expect(names).toContain('HOST');
    expect(await unknownSettings(names)).toEqual([]);
  });
});

describe('two instances under systemd, in the sandbox of the unit', async () => {
  const issuer = await startIssuer();
  // All but the first two are for one instance only, and must not override what the unit sets for each.
  const settings = { ISSUER: issuer.url, AUDIENCE, HOST: '0.0.0.0', PORT: '3010', METRICS_PORT: '9100' };
  const ports = [3011, 3012];
  const settingsFile = join(machine, 'etc/protected-api/settings.env');
  await Bun.write(settingsFile, fillIn(await Bun.file(settingsFile).text(), settings));
  const booted = await bootSystemd(machine, ['usr/local/bin', 'etc/systemd/system', 'etc/protected-api']);
  const { inContainer, systemctl } = booted;
  for (const command of systemctlCommands) expect(systemctl(...command.split(' ').slice(1))).toBe('');
  // Each listens to its metrics after its requests.
  const isUp = (metricsPort: number) => fetch(`http://127.0.0.1:${metricsPort}/metrics`).catch(() => undefined);
  const untilUp = () =>
    until(async () => (await Promise.all([9101, 9102].map(isUp))).every((response) => response?.ok), 'two instances');
  await untilUp();

  const expectAccepted = async (port: number) => {
    const headers = { ...bearer(mintToken(issuer.url)), connection: 'close' };
    expect((await fetch(`http://127.0.0.1:${port}/api/private-scoped`, { headers })).status).toBe(200);
  };

  const restarts = () =>
    systemctl('show', '--value', '--property=NRestarts', ...instances)
      .split(/\s+/)
      .map(Number);

  afterAll(async () => {
    await booted.stop();
    await issuer.close();
  });

  test('have no root user, no capabilities, and only the allowed system calls', () => {
    for (const instance of instances) {
      const pid = systemctl('show', '--value', '--property=MainPID', instance);
      const status = inContainer('cat', `/proc/${pid}/status`);
      for (const line of [/^Uid:\t[1-9]\d*\t/m, /^CapBnd:\t0{16}$/m, /^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m])
        expect(status).toMatch(line);
    }
  });

  test('listen on 127.0.0.1 only', async () => {
    const reached = ['127.0.0.1', '127.0.0.2'].flatMap((host) =>
      [...ports, 9101, 9102].map((port) =>
        fetch(`http://${host}:${port}/`).then(
          () => host,
          () => 'none',
        ),
      ),
    );
    expect(await Promise.all(reached)).toEqual([...Array(4).fill('127.0.0.1'), ...Array(4).fill('none')]);
  });

  test('fetch the keys at once when they are reloaded', async () => {
    const { fetches } = issuer;
    systemctl('reload', ...instances);
    await until(() => issuer.fetches === fetches + 2, 'two fetches');
  });

  test('survive a reload right after a restart, and start again after an exit with 0', async () => {
    for (let count = 0; count < 2; count += 1) {
      systemctl('restart', ...instances);
      systemctl('reload', ...instances);
    }
    await untilUp();
    const before = restarts();
    systemctl('kill', '--signal=TERM', ...instances);
    await until(() => restarts().every((count, index) => count > (before[index] ?? 0)), 'two restarts');
    await untilUp();
    expect(systemctl('is-active', ...instances)).toBe('active\nactive');
  });

  test('are started again for as long as another process has their ports, and serve once they are free', async () => {
    systemctl('stop', ...instances);
    const others = ports.map((port) => Bun.serve({ hostname: '0.0.0.0', port, fetch: () => new Response() }));
    systemctl('start', ...instances);
    // By default, systemd gives up after five starts in ten seconds.
    await until(() => restarts().every((count) => count > 6), 'seven restarts each');
    await Promise.all(others.map((other) => other.stop(true)));
    await untilUp();
    expect(systemctl('is-active', ...instances)).toBe('active\nactive');
  });

  test('accept tokens, one even while the other stops with status 0', async () => {
    expect(systemctl('is-active', ...instances)).toBe('active\nactive');
    await Promise.all(ports.map(expectAccepted));
    systemctl('stop', 'protected-api@1.service');
    const ended = systemctl('show', '--property=ActiveState,Result,ExecMainStatus', 'protected-api@1.service');
    expect(ended.split('\n').toSorted()).toEqual(['ActiveState=inactive', 'ExecMainStatus=0', 'Result=success']);
    await expectAccepted(3012);
  });
});
