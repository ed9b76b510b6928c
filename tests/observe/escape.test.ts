import { describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import { createLog, type LogFormat } from '../../src/observe/log.ts';

/** Values that a token, a key or an issuer can contain, and what a terminal is shown of them. */
const rows = [
  { name: 'letters, digits and punctuation', value: 'a-Z_0.9 "~"', shown: 'a-Z_0.9 "~"' },
  { name: 'ESC', value: 'k\u001b[2J', shown: 'k\\u001b[2J' },
  { name: 'BEL, backspace and carriage return', value: 'k\u0007\b\r', shown: 'k\\u0007\\u0008\\u000d' },
  { name: 'DEL', value: 'k\u007f', shown: 'k\\u007f' },
  { name: 'the C1 controls NEL and CSI', value: 'k\u0085\u009b2J', shown: 'k\\u0085\\u009b2J' },
  { name: 'a change of direction', value: 'k\u202edniw\u2066', shown: 'k\\u202edniw\\u2066' },
  { name: 'line and paragraph separators', value: 'k\u2028\u2029', shown: 'k\\u2028\\u2029' },
  { name: 'characters without a width', value: 'k\u200b\ufeff', shown: 'k\\u200b\\ufeff' },
  { name: 'half of a surrogate pair', value: 'k\ud800', shown: 'k\\ud800' },
  { name: 'tag characters', value: 'k\u{e0041}', shown: 'k\\udb40\\udc41' },
];

/** Returns what a log in this format writes, for a value in each place that has one. */
function written(value: string, format: LogFormat): string {
  let text = '';
  const log = createLog('info', format, {
    write(line) {
      text += line;
    },
    flush: (done) => done(),
    droppedLines: () => 0,
    onRecovered() {},
  });
  log.info({ added: [value], sub: value, nested: { found: value } }, `Message ${value}`);
  log.error({ err: new Error(value, { cause: new TypeError(value) }) }, 'Failed');
  return text;
}

describe('createLog()', () => {
  for (const { name, value, shown } of rows) {
    test(`writes ${name} to JSON lines as printable ASCII that parses to the same characters`, () => {
      const text = written(value, { isTerminal: false, hasColour: false });
      expect(text).toMatch(/^[\n\x20-\x7e]+$/);
      const [first, second] = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(first).toMatchObject({ added: [value], sub: value, nested: { found: value }, msg: `Message ${value}` });
      expect(second.err).toMatchObject({ message: value, cause: { message: value } });
    });

    test(`writes ${name} to a terminal as printable ASCII, to which only colours are added`, () => {
      const [plain = '', coloured = ''] = [false, true].map((hasColour) =>
        written(value, { isTerminal: true, hasColour }).replaceAll(/\d\d:\d\d:\d\d/g, 'time'),
      );
      expect(plain).toMatch(/^[\n\x20-\x7e]+$/);
      expect(plain).toContain(`Message ${shown}`);
      expect(stripVTControlCharacters(coloured)).toBe(plain);
    });
  }
});
