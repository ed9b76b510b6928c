import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/child-process.ts';

/** The shells that people paste into, each without the configuration of the user. */
export const shells = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  zsh: ['zsh', '--no-rcs', '-i'],
  // Its --no-config turns off bracketed paste; HOME is empty instead.
  fish: ['fish', '-i'],
} as const;

/** What a shell writes when it waits for input, because it then accepts a bracketed paste. */
const PROMPT = '\u001b[?2004h';

/** Pastes `text` into an interactive shell on a terminal, as a terminal does, and returns what it shows until the next prompt. */
export async function paste(command: readonly string[], text: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'protected-api-shell-'));
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
    await until(() => prompts() === 2, `${command[0]} to finish: ${shown}`);
    return Bun.stripANSI(shown);
  } finally {
    child.kill('SIGKILL');
    await child.exited;
    await rm(home, { recursive: true, force: true });
  }
}

/** Returns the status of each response that curl printed with its headers. */
export function statusesIn(shown: string): readonly number[] {
  return [...shown.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
