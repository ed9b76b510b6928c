import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, type RunningProcess, run, untilItAnswers } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { paste, shells, statusesIn } from './shells.ts';

setDefaultTimeout(60_000);

const ERRORS = /command not found|unknown command|no matches found|no such file|parse error|curl: \(/i;

const root = join(import.meta.dir, '../..');
const blocksIn = async (file: string) =>
  [...(await Bun.file(join(root, file)).text()).matchAll(/^```(?:sh|bash|console)\n(.*?)^```/gms)].map(
    ([, block = '']) => block,
  );
const blocks = await blocksIn('README.md');
const otherPages = [...new Bun.Glob('{*,docs/*,bench/*}.md').scanSync(root)].filter((file) => file !== 'README.md');
const otherBlocks = (await Promise.all(otherPages.map(blocksIn))).flat();

let service: RunningProcess;
let port: number;
beforeAll(async () => {
  port = await freePort();
  service = run(await sourceForm.command(), { PORT: String(port) });
  await untilItAnswers(`http://127.0.0.1:${port}`, service);
});
afterAll(async () => {
  service.signal('SIGTERM');
  await service.finished;
});

const commands = () => service.stderr().match(/^(?:export|curl) .*(?:\n {2}.*)*/gm) ?? [];

for (const [name, command] of Object.entries(shells)) {
  describe(`pasted into ${name}`, () => {
    test('the commands of the banner show 200 three times, 401 and 403, and no error', async () => {
      const shown = await paste(command, commands().join('\n'));
      expect(statusesIn(shown), shown).toEqual([200, 200, 200, 401, 403]);
      expect(shown).toContain('"authorization_header_missing"');
      expect(shown).toContain('"Unauthorized"');
      expect(shown).not.toMatch(ERRORS);
    });

    test('the whole banner shows the same', async () => {
      const shown = await paste(command, service.stderr());
      expect(statusesIn(shown), shown).toEqual([200, 200, 200, 401, 403]);
    });

    test('the blocks of the README that call the service get answers', async () => {
      const [getToken = ''] = commands();
      const calls = blocks.filter((block) => block.includes('curl') && block.includes('//localhost:3010'));
      expect(calls.length).toBeGreaterThan(0);
      const text = [getToken, ...calls].join('\n').replaceAll('//localhost:3010', `//localhost:${port}`);
      const shown = await paste(command, text);
      expect(statusesIn(shown).length, shown).toBeGreaterThan(0);
      expect(shown).toContain('Hello from a private endpoint');
      expect(shown).not.toMatch(ERRORS);
    });

    test('every block of the documentation is understood, and none has a comment', () => {
      expect(blocks.length).toBeGreaterThan(3);
      for (const block of [...blocks, ...otherBlocks]) {
        const { exitCode, stderr } = Bun.spawnSync([command[0], '-n'], { stdin: Buffer.from(block), stderr: 'pipe' });
        expect({ block, exitCode, stderr: stderr.toString() }).toEqual({ block, exitCode: 0, stderr: '' });
        expect(block).not.toMatch(/(?:^|\s)#/);
      }
    });
  });
}
