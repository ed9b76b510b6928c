import { afterAll, describe, expect, test } from 'bun:test';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { run, runToEnd, untilProcess } from '../support/child-process.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { bootSystemd } from './machine.ts';

/*
 * Runs the blocks of docs/deploy.md one after another, on a machine with systemd, nginx, HAProxy and Prometheus as
 * their packages configure them, and a network of its own.
 */

const page = await readText('docs/deploy.md');
const [, ...sections] = page.slice(0, page.indexOf('\n## Stop and restart')).split('\n## ');
const blocks = sections.flatMap((section) => {
  const [heading] = section.split('\n', 1);
  return [...section.matchAll(/^```(?:ba)?sh\n(.*?)^```$/gms)].map(([, text = ''], index) => [
    `${heading} ${index + 1}`,
    text,
  ]);
}) as [name: string, text: string][];

const machine = temporaryFolder();
const copied = [
  'etc/haproxy',
  'etc/default/haproxy',
  'etc/nginx',
  'etc/prometheus',
  'etc/default/prometheus',
  'etc/passwd',
  'etc/group',
  'var/lib/prometheus',
];
const empty = [
  'usr/local/bin',
  'etc/systemd/system',
  'etc/protected-api',
  'var/lib/nginx',
  'var/log/nginx',
  'var/lib/haproxy',
];
for (const path of empty) await mkdir(join(machine, path), { recursive: true });
for (const path of copied) {
  await mkdir(join(machine, path, '..'), { recursive: true });
  await cp(`/${path}`, join(machine, path), { recursive: true });
}
await $`chown -R prometheus ${machine}/var/lib/prometheus && chmod 755 ${machine}`.quiet();
await $`cp /usr/bin/env /usr/bin/kill ${machine}/usr/local/bin`.quiet();

// Its network has no interface but loopback, so it is never online.
await $`ln -s /dev/null ${machine}/etc/systemd/system/systemd-networkd-wait-online.service`.quiet();
const flags = ['--private-network', `--bind=${root}:/protected-api`];
const booted = await bootSystemd(machine, [...empty, ...copied], flags);
// HAProxy reads it when it starts.
booted.inContainer('sh', '-c', 'echo nameserver 127.0.0.1 > /etc/resolv.conf');

/** Runs a command of this machine in the network of the other one. */
const inNetwork = (...command: readonly string[]) => ['nsenter', '--net', '--target', booted.leader(), ...command];
const command = [process.execPath, join(root, 'src/auth/command.ts'), 'issuer', '--port', '4010'];
const issuer = run(inNetwork(...command, '--audience', 'https://api.example.com', '--client', 'ci:read:messages'));
await untilProcess(issuer, () => /AUDIENCE=/.test(issuer.stdout()), 'an issuer');
const issuerUrl = /ISSUER=(http:\S+)/.exec(issuer.stdout())?.[1] ?? '';

afterAll(async () => {
  issuer.signal('SIGTERM');
  await Promise.all([booted.stop(), issuer.finished]);
});

/** Runs a block. What needs Bun is run on this machine. */
async function runBlock(text: string): Promise<string> {
  const here = text.split('\n').filter((line) => line.startsWith('bun '));
  await $`sh -euc ${here.join('\n')}`.cwd(root).quiet();
  const there = text.replace(/^bun .*\n/gm, '').replaceAll('https://tenant.example.com/', issuerUrl);
  const shell = ['nsenter', '--all', '--target', booted.leader(), 'timeout', '120', 'sh', '-euc'];
  const { status, stdout, stderr } = await runToEnd([...shell, `cd /protected-api\n${there}`], {
    PATH: '/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin',
  });
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  return stdout;
}

/** Sends requests through nginx until it is stopped, and then returns how many there were, and those that failed. */
function startLoad(token: string) {
  const text = `import { startLoad } from '${join(root, 'tests/proxies/proxies.ts')}';
const load = startLoad('http://127.0.0.1/api/private', () => ({ authorization: 'Bearer ${token}' }));
process.on('SIGTERM', async () => {
  const failures = await load.stop();
  console.log(JSON.stringify({ failures, requests: load.requests() }));
  process.exit();
});
`;
  return run(inNetwork(process.execPath, 'load.ts'), {}, { 'load.ts': text });
}

async function mint(): Promise<string> {
  const secret = /client_secret=([\w-]+)/.exec(issuer.stdout())?.[1] ?? '';
  const form = `grant_type=client_credentials&client_id=ci&client_secret=${secret}&audience=https://api.example.com`;
  const { stdout } = await runToEnd(inNetwork('curl', '-s', '--data', form, `${issuerUrl}oauth/token`));
  return JSON.parse(stdout).access_token;
}

describe('docs/deploy.md', () => {
  test.each(blocks)('%s runs on a machine after the blocks before it', async (name, text) => {
    const isUpgrade = name.startsWith('Upgrade');
    const load = isUpgrade ? startLoad(await mint()) : undefined;
    if (load) await Bun.sleep(1000);
    const output = await runBlock(text);
    if (name === 'Scrape it, and see the first alert 2') expect(output).toMatch(/"state":"(?:pending|firing)"/);
    if (!load) return;
    load.signal('SIGTERM');
    const { failures, requests } = JSON.parse((await load.finished).stdout);
    expect([failures, requests > 500]).toEqual([[], true]);
  });

  test('neither nginx nor HAProxy serves as root, and the upgrade was one of the blocks', async () => {
    const users = booted.inContainer('ps', '-C', 'haproxy', '-o', 'user=').split('\n').toSorted();
    expect(users.at(0)).toBe('haproxy');
    expect(blocks.map(([name]) => name)).toContain('Upgrade without a lost request 1');
  });
});

test('the first alert fires after a minute, as the page says', async () => {
  const alerts = await readText('deploy/prometheus/alerts.yaml');
  expect(alerts).toMatch(/alert: ProtectedApiDown\n.*\n +for: 1m$/m);
});

test('Podman takes the flags of the page as the health check of the image', async () => {
  const [, healthFlags = ''] = /For `podman run`, add `(.*?)`/.exec(page) ?? [];
  const rootFolder = temporaryFolder();
  const created = await $`sh -c ${`podman create ${healthFlags} --rootfs ${rootFolder} /none`}`.quiet().text();
  const { Test } = await $`podman inspect ${created.trim()} --format ${'{{json .Config.Healthcheck}}'}`.quiet().json();
  await $`podman rm ${created.trim()}`.nothrow().quiet();
  const [, command = '[]'] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(await readText('Dockerfile')) ?? [];
  expect(Test).toEqual(['CMD', ...JSON.parse(command)]);
});
