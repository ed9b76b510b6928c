import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type Environment, freePort, until } from '../support/child-process.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(120_000);

const ESCAPE = '\u001b';
const withoutColour = (text: string) => Bun.stripANSI(text);

/** Starts the service on a terminal of 80 columns, and returns what a person sees until it listens. */
async function seen(form: CommandForm, environment: Environment): Promise<{ origin: string; text: string }> {
  const port = await freePort();
  let text = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([...(await form.command())], {
    env: { PORT: String(port), TERM: 'xterm', ...environment },
    terminal: {
      cols: 80,
      data(_terminal, bytes) {
        text += decoder.decode(bytes, { stream: true });
      },
    },
  });
  await until(() => text.includes('Listening'), 'the service to listen');
  child.kill();
  await child.exited;
  return { origin: `http://localhost:${port}`, text: text.replaceAll('\r\n', '\n') };
}

for (const form of [sourceForm, executableForm]) {
  describe(`${form.name} on a terminal`, () => {
    test('begins with where it is and where its documentation is, one below the other', async () => {
      const { origin, text } = await seen(form, {});
      const [first, second] = withoutColour(text).trim().split('\n');
      expect(first).toBe(`Protected API  ${origin}`);
      expect(second).toBe(`Documentation  ${origin}/openapi`);
    });

    test('does not name a documentation that is not there', async () => {
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
          .split('# 200, 200')[0];
      expect(constant(coloured)).toBe(constant(plain));
    });

    test('fits 80 columns', async () => {
      const { text } = await seen(form, {});
      const [banner = ''] = withoutColour(text).split(/^\[/m);
      expect(banner).toContain('curl');
      for (const line of banner.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    });
  });
}
