import { afterAll, describe, expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import { readSettings } from '../../src/settings.ts';
import { docker } from '../support/container.ts';
import { readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { bootSystemd } from './machine.ts';

/*
 * One file with settings has several readers, and each understands it in its own way. Every line below is read by each
 * of them. Its value arrives as it was meant, or the service names the setting and does not start.
 */

type Variables = Readonly<Record<string, string>>;
/** Returns the variables that a program gets which is started with this file. */
type Reader = (file: string) => Promise<Variables>;

const folder = temporaryFolder();
const rootFolder = join(folder, 'root');
await mkdir(rootFolder);
const machine = temporaryFolder();
await Bun.write(join(machine, 'etc/protected-api/settings.env'), '');
await Bun.write(
  join(machine, 'etc/systemd/system/read.service'),
  `[Service]
Type=oneshot
EnvironmentFile=/etc/protected-api/settings.env
ExecStart=/usr/bin/env
StandardOutput=truncate:/etc/protected-api/read
`,
);
const booted = await bootSystemd(machine, ['etc/systemd/system', 'etc/protected-api']);
const composeCommand =
  Bun.spawnSync(['docker', 'compose', 'version']).exitCode === 0 ? 'docker compose' : 'docker-compose';
await docker('import', '--change', 'CMD ["/none"]', await emptyArchive(), 'protected-api-empty');

afterAll(async () => {
  await booted.stop();
  await docker('rmi', 'protected-api-empty');
});

async function emptyArchive(): Promise<string> {
  await $`tar -c -f ${folder}/empty.tar -C ${rootFolder} .`.quiet();
  return join(folder, 'empty.tar');
}

const parsed = (lines: readonly string[]): Variables =>
  Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
  );

/** In the folder that has the file, under this name. */
const readers: Readonly<Record<string, Reader>> = {
  async Bun(file) {
    await $`cp ${file} .env`.cwd(folder);
    await Bun.write(join(folder, 'print.ts'), 'console.log(JSON.stringify(process.env))');
    const environment = { HOME: '/home/none', PATH: process.env.PATH };
    return $`${process.execPath} print.ts`.cwd(folder).env(environment).json();
  },
  async Compose(file) {
    await Bun.write(join(folder, 'compose.yaml'), `services: { a: { image: a, env_file: ${file} } }`);
    const text = await $`sh -c ${`${composeCommand} config`}`.cwd(folder).quiet().text();
    const { services } = Bun.YAML.parse(text) as { services: { a: { environment: Record<string, string> } } };
    const values = Object.entries(services.a.environment);
    return Object.fromEntries(values.map(([name, value]) => [name, String(value).replaceAll('$$', '$')]));
  },
  async systemd(file) {
    await Bun.write(join(machine, 'etc/protected-api/settings.env'), Bun.file(file));
    booted.systemctl('start', 'read.service');
    return parsed((await Bun.file(join(machine, 'etc/protected-api/read')).text()).split('\n'));
  },
  async 'docker run'(file) {
    const id = await docker('create', '--env-file', file, 'protected-api-empty');
    const variables = JSON.parse(await docker('inspect', '--format', '{{json .Config.Env}}', id));
    await docker('rm', id);
    return parsed(variables);
  },
  async Podman(file) {
    const id = (await $`podman create --env-file ${file} --rootfs ${rootFolder} /none`.quiet().text()).trim();
    const variables = await $`podman inspect ${id} --format ${'{{json .Config.Env}}'}`.quiet().json();
    await $`podman rm ${id}`.quiet();
    return parsed(variables);
  },
  async kustomize(file) {
    await Bun.write(join(folder, 'kustomization.yaml'), 'configMapGenerator: [{ name: a, envs: [settings.env] }]');
    await $`cp ${file} settings.env`.cwd(folder);
    const { data } = Bun.YAML.parse(await $`kubectl kustomize ${folder}`.quiet().text()) as { data: Variables };
    return data;
  },
};

const required = ['ISSUER=https://tenant.example.com/', 'AUDIENCE=https://api.example.com'];
const dpop = ['DPOP=on', 'PUBLIC_URL=https://api.example.com'];
let files = 0;
async function write(lines: readonly string[], end = '\n', start = ''): Promise<string> {
  files += 1;
  const file = join(folder, `settings-${files}.env`);
  await Bun.write(file, start + lines.map((line) => line + end).join(''));
  return file;
}

const secret = '0123456789$HOME0123456789#0123456789';
const admins = { groups: ['CN=admins,OU=api'] };
/** A line of a file, the option that it sets, and what it means. */
const lines: readonly [line: string, option: string, meant: unknown][] = [
  ['REQUIRED_CLAIMS={"groups":"CN=admins,OU=api"}', 'requiredClaims', admins],
  [`REQUIRED_CLAIMS='{"groups":"CN=admins,OU=api"}'`, 'requiredClaims', admins],
  ['REQUIRED_CLAIMS=groups=CN=admins\\,OU=api', 'requiredClaims', admins],
  ["REQUIRED_CLAIMS='groups=CN=admins\\,OU=api'", 'requiredClaims', admins],
  ['REQUIRED_CLAIMS="groups=CN=admins\\,OU=api"', 'requiredClaims', admins],
  ['REQUIRED_CLAIMS={"user":"CORP\\\\nick"}', 'requiredClaims', { user: ['CORP\\nick'] }],
  [`REQUIRED_CLAIMS='{"user":"CORP\\\\nick"}'`, 'requiredClaims', { user: ['CORP\\nick'] }],
  ['REQUIRED_CLAIMS={"user":"CORP\\\\ada"}', 'requiredClaims', { user: ['CORP\\ada'] }],
  ['REQUIRED_CLAIMS={"team":"Team #1"}', 'requiredClaims', { team: ['Team #1'] }],
  [`REQUIRED_CLAIMS='{"team":"Team #1","act":null}'`, 'requiredClaims', { team: ['Team #1'], act: [null] }],
  ['AUDIENCE=https://api.example.com # the API', 'audience', ['https://api.example.com']],
  ['AUDIENCE="https://api.example.com" # the API', 'audience', ['https://api.example.com']],
  ["AUDIENCE='https://api.example.com' # the API", 'audience', ['https://api.example.com']],
  ['ALGORITHMS=ES256 # of our issuer', 'algorithms', ['ES256']],
  [`DPOP_NONCE_SECRET=${secret}`, 'dpopNonceSecret', [secret]],
  [`DPOP_NONCE_SECRET='${secret}'`, 'dpopNonceSecret', [secret]],
];

test('systemd ignores a line with export, and one after a comment with a backslash at its end, as the page says', async () => {
  const variables = await readers.systemd?.(await write(['export A=1', '# comment \\', 'B=2', 'C=3']));
  expect([variables?.A, variables?.B, variables?.C]).toEqual([undefined, undefined, '3']);
});

/** The table of the page: what is in the file, and what the programs of each column get. */
const page = await readText('docs/settings.md');
const rows = [...page.matchAll(/^\| `A=.*\|$/gm)].map(([row]) =>
  [...row.matchAll(/`(.*?)` *(?=\|)/g)].map(([, cell = '']) => cell),
);
const columns: Readonly<Record<string, number>> = { Bun: 1, Compose: 2, systemd: 3 };
/** Compose 1, which Debian 12 has, knows no variables. */
const inCompose1: Variables = { 'A=x$B': 'x$B' };

describe.each(Object.entries(readers))('%s', (name, read) => {
  test.each(lines)('hands over %s as it is meant, or the service does not start', async (line, option, meant) => {
    const variables = await read(
      await write([...required.filter((each) => each.split('=')[0] !== line.split('=')[0]), ...dpop, line]),
    );
    let problems: readonly string[] = [];
    let options: Readonly<Record<string, unknown>> = {};
    try {
      options = { ...readSettings(variables, false).optionsAt(0) };
    } catch (error) {
      ({ problems } = error as { readonly problems: readonly string[] });
    }
    if (problems.length === 0) expect(options[option]).toEqual(meant);
    else expect(problems).toEqual([expect.stringMatching(new RegExp(`^${line.split('=', 1)} must `))]);
  });

  test('reads the table of the page as the page says', async () => {
    const variables = await read(await write(rows.map(([line = ''], index) => line.replace('A', `A${index}`))));
    const got = rows.map((_row, index) => variables[`A${index}`]);
    const isOld = name === 'Compose' && composeCommand === 'docker-compose';
    expect(got).toEqual(rows.map((row) => (isOld && inCompose1[row[0] ?? '']) || row[columns[name] ?? 4]));
  });

  test.each([
    ['a byte order mark', '\n', '\ufeff'],
    ['line ends of Windows', '\r\n', ''],
  ])('hands over a file with %s, or the service does not start', async (_what, end, start) => {
    const variables = await read(await write(required, end, start));
    const expected = { issuer: ['https://tenant.example.com/'], audience: ['https://api.example.com'] };
    const begin = () => readSettings(variables, false).optionsAt(0);
    const isLost = start !== '' && ['systemd', 'Podman'].includes(name);
    if (isLost) expect(begin).toThrow('ISSUER is required');
    else expect(begin()).toMatchObject(expected);
  });
});
