import { describe, expect, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import { withoutCredentials } from '../../src/observe/escape.ts';
import { plainFormat, readJsonLines, recordLog } from '../support/recorded-log.ts';

/** Returns what a log in this format writes for a value in each possible place. */
function written(value: string, format: typeof plainFormat): string {
  const { log, lines } = recordLog('info', format);
  log.info({ added: [value], sub: value, nested: { found: value } }, `Message ${value}`);
  log.error({ err: new Error(value, { cause: new TypeError(value) }) }, 'Failed');
  return lines.join('');
}

/** Values that a token, a key or an issuer can contain, and their form on a terminal. */
describe.each([
  ['letters, digits and punctuation', 'a-Z_0.9 "~"', 'a-Z_0.9 "~"'],
  ['ESC', 'k\u001b[2J', 'k\\u001b[2J'],
  ['BEL, backspace and carriage return', 'k\u0007\b\r', 'k\\u0007\\u0008\\u000d'],
  ['DEL', 'k\u007f', 'k\\u007f'],
  ['the C1 controls NEL and CSI', 'k\u0085\u009b2J', 'k\\u0085\\u009b2J'],
  ['a change of direction', 'k\u202edniw\u2066', 'k\\u202edniw\\u2066'],
  ['line and paragraph separators', 'k\u2028\u2029', 'k\\u2028\\u2029'],
  ['characters without a width', 'k\u200b\ufeff', 'k\\u200b\\ufeff'],
  ['half of a surrogate pair', 'k\ud800', 'k\\ud800'],
  ['tag characters', 'k\u{e0041}', 'k\\udb40\\udc41'],
])('createLog() writes %s', (_name, value, shown) => {
  test('to JSON lines as printable ASCII that parses to the same characters', () => {
    const text = written(value, plainFormat);
    expect(text).toMatch(/^[\n\x20-\x7e]+$/);
    expect(readJsonLines(text)).toMatchObject([
      { added: [value], sub: value, nested: { found: value }, msg: `Message ${value}` },
      { err: { message: value, cause: { message: value } } },
    ]);
  });

  test('to a terminal as printable ASCII, to which only colours are added', () => {
    const [plain = '', coloured = ''] = [false, true].map((hasColour) =>
      written(value, { isTerminal: true, hasColour }).replaceAll(/\d\d:\d\d:\d\d/g, 'time'),
    );
    expect(plain).toMatch(/^[\n\x20-\x7e]+$/);
    expect(plain).toContain(`Message ${shown}`);
    expect(stripVTControlCharacters(coloured)).toBe(plain);
  });
});

test.each([
  ['redis://user:secret@127.0.0.1:6379/1', 'redis://***@127.0.0.1:6379/1'],
  ['redis://user:sec@ret@a.test/1', 'redis://***@a.test/1'],
  ['REDISS://user:sec/@ret:@[::1]:6379', 'REDISS://***@[::1]:6379'],
  ['https://user:sec?ret#s@a.test/keys', 'https://***@a.test/keys'],
  ['https://user:sec\nret@a.test/keys?secret', 'https://***@a.test/keys'],
  ['https://s\u00e9cret\u2028@\u00fc.test/keys#secret', 'https://***@\u00fc.test/keys'],
  ['https://secret@a.test,https://secret@b.test', 'https://***@b.test'],
  ['h2c://user:secret@a.test', 'h2c://***@a.test'],
  ['api@example.test', 'api@example.test'],
  ['no URL: https://a@b.test', 'no URL: https://a@b.test'],
])('withoutCredentials() shows %s as %s', (text, shown) => expect(withoutCredentials(text)).toBe(shown));

test('createLog() ends a chain of causes that never ends', () => {
  const { log, lines } = recordLog('info', plainFormat);
  const error = new Error('again');
  error.cause = error;
  log.error({ err: error }, 'Failed');
  expect(lines.join('').split('"message":"again"').length).toBeWithin(2, 20);
});
