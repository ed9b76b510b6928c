import { expect, setDefaultTimeout, test } from 'bun:test';
import { type Environment, until } from '../support/child-process.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';

// A process starts slowly on a busy machine, and the first one may build the executable.
setDefaultTimeout(120_000);

const COLUMNS = 80;
const ROWS = 24;

/** Starts the service on a terminal, and returns what it wrote once it holds its keys. */
async function seen(form: CommandForm, environment: Environment = {}): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([...(await form.command())], {
    env: { PORT: '0', TERM: 'xterm', ...environment },
    terminal: {
      cols: COLUMNS,
      rows: ROWS,
      data: (_terminal, bytes) => {
        text += decoder.decode(bytes, { stream: true });
      },
    },
  });
  await until(() => text.includes('Key set fetched'), 'the service to fetch its keys');
  child.kill();
  await child.exited;
  return text.replaceAll('\r\n', '\n');
}

/** The lines without colours that are not of the log, which begin with a time. */
const bannerOf = (text: string) => Bun.stripANSI(text).replace(/^\[.*$\n/gm, '');

for (const form of [sourceForm, executableForm]) {
  test(`${form.name} on a terminal shows its addresses last of the banner and without scrolling, in 80 columns`, async () => {
    const text = await seen(form);
    expect(text).toContain('\u001b');
    const lines = bannerOf(text).trim().split('\n');
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
    const addresses = lines.slice(-2);
    expect(addresses).toEqual([
      expect.stringMatching(/^Documentation {2}http:\/\/localhost:\d+\/openapi$/),
      expect.stringMatching(/^Protected API {2}http:\/\/localhost:\d+$/),
    ]);
    const rows = Bun.stripANSI(text)
      .split('\n')
      .flatMap((line) => line.match(/.{1,80}/g) ?? ['']);
    expect(rows.slice(-ROWS)).toEqual(expect.arrayContaining(addresses));
  });

  test(`${form.name} on a terminal with NO_COLOR and DOCS=false says the same without colour and documentation`, async () => {
    const constant = (text: string) => bannerOf(text).replace(/:\d+|secret=\w+|^Documentation.*\n/gm, '');
    const plain = await seen(form, { NO_COLOR: '1', DOCS: 'false' });
    expect(plain).not.toContain('\u001b');
    expect(plain).not.toContain('/openapi');
    expect(constant(plain)).toBe(constant(await seen(form)));
  });
}
