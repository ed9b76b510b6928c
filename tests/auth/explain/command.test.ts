import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { runToEnd } from '../../support/child-process.ts';
import { startIssuer } from '../../support/issuer.ts';
import { AUDIENCE, mintToken } from '../../support/mint.ts';

const command = join(import.meta.dir, '../../../src/auth/command.ts');
const token = mintToken('https://issuer.example.test/');

const [prints, matching] = [expect.stringContaining, expect.stringMatching];
test.each<[name: string, args: string[], changes: { status: number; stdout?: string; stderr?: string }]>([
  ['a token that it accepts', ['explain'], { status: 0, stdout: matching(/\n200: Token is accepted\n$/) }],
  ['a scope', ['explain', '--scope', 'read:messages'], { status: 0, stdout: prints(' sufficient for ') }],
  ['two scopes', ['explain', '--scope=read:messages', '--scope=b'], { status: 1, stdout: prints('\n403 ') }],
  ['no scope', ['explain', '--scope', 'a b'], { status: 1, stderr: matching(/^Cannot .* is not a single scope.*\n$/) }],
  ['--help', ['explain', '--help'], { status: 0, stdout: matching(/^Usage: protected-api explain /) }],
  ['--help without a word', ['--help'], { status: 0, stdout: matching(/^Usage: protected-api <command> /) }],
  ['no word', [], { status: 1, stderr: matching(/^Cannot run: .*\n$/) }],
  ['a wrong word', ['constructor'], { status: 1, stderr: matching(/^Cannot run: .*\n$/) }],
  ['an unknown flag', ['explain', '--scop'], { status: 1, stderr: matching(/^Cannot read flags: .*\n$/) }],
  ['a token as argument', ['explain', token], { status: 1, stderr: expect.not.stringContaining(token.slice(-20)) }],
])('protected-api explain is given %s', async (_name, args, changes) => {
  await using issuer = await startIssuer();
  const environment = { ISSUER: issuer.url, AUDIENCE, INPUT: mintToken(issuer.url) };
  const script = ['/bin/sh', '-c', 'echo "$INPUT" | exec "$@"', 'sh', process.execPath, command, ...args];
  expect(await runToEnd(script, environment)).toEqual({ stdout: '', stderr: '', ...changes });
});

test('protected-api explain lists all mistakes of the settings', async () => {
  const { status, stderr } = await runToEnd([process.execPath, command, 'explain'], { ISSUER: 'x', SCOPE_CLAIM: '' });
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^Cannot read settings:\n {2}ISSUER must begin with https:.*\n {2}AUDIENCE is required: .*\n$/,
  );
});

test.each([
  ['protected-api explain', [command, 'explain']],
  ['the service', [join(import.meta.dir, '../../../src/index.ts'), '--explain']],
])('%s prints in both forms what would accept a token, without settings, and exits with 1', async (_, args) => {
  const script = ['/bin/sh', '-c', 'echo "$INPUT" | exec "$@"', 'sh', process.execPath, ...args];
  const { stdout, ...ended } = await runToEnd(script, { INPUT: token, ISSUER: '', AUDIENCE: '' });
  expect(ended).toEqual({ status: 1, stderr: '' });
  const forms = [`\nISSUER=https://issuer.example.test/\nAUDIENCE=${AUDIENCE}\n`, `  audience: '${AUDIENCE}',\n})\n`];
  for (const part of [...forms, 'trust whoever issued this token']) expect(stdout).toContain(part);
  expect(stdout).not.toContain(token.slice(-20));
});

test.each([
  ['protected-api explain', [command, 'explain']],
  ['the service', [join(import.meta.dir, '../../../src/index.ts'), '--explain']],
])('%s says that it got no token', async (_, args) => {
  const script = ['/bin/sh', '-c', 'echo | exec "$@"', 'sh', process.execPath, ...args];
  for (const ISSUER of ['', 'https://issuer.example.test/'])
    expect(await runToEnd(script, { ISSUER, AUDIENCE: ISSUER })).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Cannot explain a token: standard input is empty\n',
    });
});
