import { describe, expect, test } from 'bun:test';
import { qualityOf } from '../../src/http/accept.ts';

describe('qualityOf()', () => {
  for (const [name, header, value, quality] of [
    ['the value itself', 'text/html', 'text/html', 1],
    ['its quality', 'text/html;q=0.5', 'text/html', 0.5],
    ['white space and capitals', 'TEXT/HTML ; Q=0.5 , x/y', 'text/html', 0.5],
    ['a range of its type', 'text/*;q=0.3', 'text/html', 0.3],
    ['the range of everything', '*/*;q=0.2', 'text/html', 0.2],
    ['the value before its type', 'text/*;q=0.3, text/html;q=0.7, */*', 'text/html', 0.7],
    ['its type before everything', '*/*, text/*;q=0.3', 'text/html', 0.3],
    ['a refusal before everything', '*/*, text/html;q=0', 'text/html', 0],
    ['a parameter that is no quality', 'text/html;level=1', 'text/html', 1],
    ['an encoding', 'gzip, deflate, br', 'gzip', 1],
    ['any encoding', '*;q=0.1', 'gzip', 0.1],
    ['a refused encoding', 'gzip;q=0, *', 'gzip', 0],
    ['what is not listed', 'application/json', 'text/html', 0],
    ['a name that only begins like it', 'text/html5', 'text/html', 0],
    ['a quality that is no number', 'text/html;q=high', 'text/html', 0],
    ['an empty header', '', 'text/html', 0],
    ['no header', null, 'text/html', 0],
  ] as const) {
    test(`reads ${name}`, () => {
      expect(qualityOf(header, value)).toBe(quality);
    });
  }
});
