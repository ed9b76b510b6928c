import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type Environment, freePort, until } from '../support/child-process.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(120_000);

const ESCAPE = '\u001b';
const withoutColour = (text: string) => Bun.stripANSI(text);

const COLUMNS = 80;
const ROWS = 24;

/** Starts the service on a terminal of 80 columns and 24 rows, and returns what it wrote once it holds its keys. */
async function seen(form: CommandForm, environment: Environment): Promise<{ origin: string; text: string }> {
  const port = await freePort();
  let text = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([...(await form.command())], {
    env: { PORT: String(port), TERM: 'xterm', ...environment },
    terminal: {
      cols: COLUMNS,
      rows: ROWS,
      data(_terminal, bytes) {
        text += decoder.decode(bytes, { stream: true });
      },
    },
  });
  await until(() => text.includes('Key set fetched'), 'the service to fetch its keys');
  child.kill();
  await child.exited;
  return { origin: `http://localhost:${port}`, text: text.replaceAll('\r\n', '\n') };
}

/** The lines that are not of the log, which begin with a time. */
const bannerOf = (text: string) => withoutColour(text).replace(/^\[.*$\n/gm, '');

/** Returns the rows that are on the screen in the end. */
function visible(text: string): readonly string[] {
  const rows = withoutColour(text)
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${COLUMNS}}`, 'g')) ?? ['']);
  return rows.slice(-ROWS);
}

for (const form of [sourceForm, executableForm]) {
  describe(`${form.name} on a terminal`, () => {
    test('shows its addresses one below the other, last of the banner and without scrolling', async () => {
      const { origin, text } = await seen(form, {});
      const addresses = [`Documentation  ${origin}/openapi`, `Protected API  ${origin}`];
      expect(bannerOf(text).trim().split('\n').slice(-2)).toEqual(addresses);
      expect(visible(text)).toEqual(expect.arrayContaining(addresses));
    });

    test('does not mention the documentation if it is disabled', async () => {
      const { text } = await seen(form, { DOCS: 'false' });
      expect(text).not.toContain('Documentation');
      expect(text).not.toContain('/openapi');
    });

    test('is coloured, and with NO_COLOR says the same without colour', async () => {
      const coloured = (await seen(form, {})).text;
      const plain = (await seen(form, { NO_COLOR: '1' })).text;
      expect(coloured).toContain(ESCAPE);
      expect(plain).not.toContain(ESCAPE);
      const constant = (text: string) =>
        withoutColour(text)
          .replace(/:\d+|secret=\w+/g, '')
          .split('Documentation')[0];
      expect(constant(coloured)).toBe(constant(plain));
    });

    test('fits 80 columns', async () => {
      const { text } = await seen(form, {});
      expect(bannerOf(text)).toContain('curl');
      for (const line of bannerOf(text).split('\n')) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
    });
  });
}
