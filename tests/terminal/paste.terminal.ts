import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, type RunningProcess, run, untilItAnswers } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { paste, shells, statusesIn } from './shells.ts';

setDefaultTimeout(60_000);

const ERRORS = /command not found|unknown command|no matches found|no such file|parse error|curl: \(/i;

const root = join(import.meta.dir, '../..');
/** A block that is marked as `bash` is a script. Others are pasted into any shell. */
const blocksIn = async (file: string, languages = 'sh|console') =>
  [
    ...(await Bun.file(join(root, file)).text()).matchAll(new RegExp(`^\`\`\`(?:${languages})\\n(.*?)^\`\`\``, 'gms')),
  ].map(([, block = '']) => block);
const blocks = await blocksIn('README.md');
const pages = ['*.md', 'docs/*.md', 'bench/*.md'].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]);
const allBlocks = (await Promise.all(pages.map((page) => blocksIn(page)))).flat();
const scripts = (await Promise.all(pages.map((page) => blocksIn(page, 'bash')))).flat();
/** Lines of the responses that the README shows. */
const shownLines = [...(await Bun.file(join(root, 'README.md')).text()).matchAll(/^```(?:json|http)\n(.*?)^```/gms)]
  .flatMap(([, block = '']) => block.split('\n'))
  .filter(Boolean);

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

    test('the blocks of the README that call the service get the responses that it shows', async () => {
      const getTokens = commands().filter((line) => line.startsWith('export'));
      const calls = blocks.filter((block) => block.includes('curl') && block.includes('//localhost:3010'));
      const text = [...getTokens, ...calls].join('\n').replaceAll('//localhost:3010', `//localhost:${port}`);
      const shown = (await paste(command, text)).replaceAll(`//localhost:${port}`, '//localhost:3010');
      expect(statusesIn(shown), shown).toEqual([200, 200, 200, 401, 403]);
      expect(shownLines.length).toBeGreaterThan(0);
      for (const line of shownLines) expect(shown).toContain(line);
      expect(shown).not.toMatch(ERRORS);
    });

    test('every block of the documentation is understood, and none has a comment', () => {
      expect(allBlocks.length).toBeGreaterThan(blocks.length);
      for (const block of name === 'bash' ? [...allBlocks, ...scripts] : allBlocks) {
        const { exitCode, stderr } = Bun.spawnSync([command[0], '-n'], { stdin: Buffer.from(block), stderr: 'pipe' });
        expect({ block, exitCode, stderr: stderr.toString() }).toEqual({ block, exitCode: 0, stderr: '' });
        expect(block).not.toMatch(/(?:^|\s)#/);
      }
    });
  });
}
