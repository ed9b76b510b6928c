import { expect, test } from 'bun:test';
import { $ } from 'bun';
import { freePort, run, untilProcess } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { readText } from '../support/repository.ts';

test('the script of deploy/internals.md starts a process for each core on one port, and stops them all', async () => {
  const text = await readText('deploy/internals.md');
  const script = /## Several cores.*?```bash\n(.*?)```/s.exec(text)?.[1] ?? '';
  const [executable = ''] = await executableForm.command();
  await using issuer = await startIssuer();
  const here = script.replace('./dist/protected-api', executable).replace(/ISSUER=\S+/, `ISSUER=${issuer.url}`);
  const port = String(await freePort());
  const cores = Number(await $`nproc`.text());
  const shell = run(['bash', '-c', here], { HOST: '127.0.0.1', PORT: port });

  const count = (message: string) => shell.stdout().split(`"msg":"${message}"`).length - 1;
  await untilProcess(shell, () => count('Listening') === cores, 'a process for each core');
  expect((await fetch(`http://127.0.0.1:${port}/api/public`)).status).toBe(200);
  shell.signal('SIGTERM');
  expect(await shell.finished).toMatchObject({ status: 0, stderr: '' });
  expect(count('Stopped')).toBe(cores);
});
