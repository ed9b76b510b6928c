import { afterAll, describe, expect, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { statusesIn } from '../support/raw-http.ts';
import { pages, readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ERRORS = /command not found|unknown command|no matches found|no such file|parse error|curl: \(/i;

/** The shells to paste into, each without user configuration. */
const shells = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  zsh: ['zsh', '--no-rcs', '-i'],
  // Its --no-config turns off bracketed paste; HOME is empty instead.
  fish: ['fish', '-i'],
} as const;

/** What a shell writes when it waits for input, because it then accepts a bracketed paste. */
const PROMPT = '\u001b[?2004h';

/**
 * Pastes `text` into an interactive shell on a terminal, as a terminal does, and returns what it shows until the next
 * prompt.
 */
async function paste(command: readonly string[], text: string): Promise<string> {
  const home = temporaryFolder();
  const decoder = new TextDecoder();
  let shown = '';
  const child = Bun.spawn([...command], {
    cwd: home,
    env: { HOME: home, PATH: process.env.PATH ?? '', TERM: 'xterm', LANG: 'C.UTF-8' },
    terminal: {
      cols: 80,
      rows: 24,
      data(_terminal, bytes) {
        shown += decoder.decode(bytes, { stream: true });
      },
    },
  });
  try {
    const prompts = () => shown.split(PROMPT).length - 1;
    await until(() => prompts() === 1, `a prompt of ${command[0]}`);
    child.terminal?.write(`\u001b[200~${text.trim().replaceAll('\n', '\r')}\u001b[201~\r`);
    await until(() => prompts() === 2, `${command[0]} to finish`);
    return Bun.stripANSI(shown);
  } finally {
    child.kill('SIGKILL');
    await child.exited;
  }
}

const blocksIn = async (page: string, languages: string) => {
  const blocks = new RegExp(`^\`\`\`(?:${languages})\\n(.*?)^\`\`\``, 'gms');
  return [...(await readText(page)).matchAll(blocks)].map(([, block = '']) => block);
};
const allIn = async (languages: string) => (await Promise.all(pages.map((page) => blocksIn(page, languages)))).flat();

const service = await sourceForm.start({}, ['--dev']);
afterAll(() => service.close());

describe.each(Object.entries(shells))('pasted into %s', (name, command) => {
  test('the whole banner shows 200 three times, 401 and 403, and no error', async () => {
    const shown = await paste(command, service.process.stderr());
    expect(statusesIn(shown), shown).toEqual([200, 200, 200, 401, 403]);
    expect(shown).not.toMatch(ERRORS);
    expect(shown).toContain('"authorization_header_missing"');
    expect(shown).toContain('"Unauthorized"');
  });

  test('the blocks of the README that call the service get the responses that it shows, and no error', async () => {
    const [documented, actual] = ['//localhost:3010', `//localhost:${service.port}`];
    const getTokens = service.process.stderr().match(/^export .*(?:\n {2}.*)*/gm) ?? [];
    const blocks = await blocksIn('README.md', 'sh|console');
    const calls = blocks.filter((block) => block.includes('curl') && block.includes(documented));
    const text = [...getTokens, ...calls].join('\n').replaceAll(documented, actual);
    const shown = (await paste(command, text)).replaceAll(actual, documented);
    expect(statusesIn(shown), shown).toEqual([200, 200, 200, 401, 403]);
    const lines = (await blocksIn('README.md', 'json|http')).flatMap((block) => block.split('\n')).filter(Boolean);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(shown).toContain(line);
    expect(shown).not.toMatch(ERRORS);
  });

  test('the shell understands every block of the documentation, and none has a comment', async () => {
    // A block that is marked as `bash` is a script. Others are pasted into any shell.
    const blocks = await allIn(name === 'bash' ? 'sh|console|bash' : 'sh|console');
    expect(blocks.length).toBeGreaterThan(10);
    for (const block of blocks) {
      const { exitCode, stderr } = Bun.spawnSync([command[0], '-n'], { stdin: Buffer.from(block), stderr: 'pipe' });
      expect({ block, exitCode, stderr: stderr.toString() }).toEqual({ block, exitCode: 0, stderr: '' });
      expect(block).not.toMatch(/(?:^|\s)#/);
    }
  });
});
