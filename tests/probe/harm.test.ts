import { describe, expect, test } from 'bun:test';
import { byHarm, endOfServer, harmOf, notRecovered, summaryOf } from '../../src/probe/report/harm.ts';
import { reportOf } from '../../src/probe/report/report.ts';
import type { ProbedRow } from '../../src/probe/report/result.ts';

const row = (about: Partial<ProbedRow>): ProbedRow => ({
  ...{ id: 'audience-other', target: 'GET https://api.invalid/', rule: 'RFC 7519 §4.1.3', level: 'must' },
  ...{ needs: 'issuer', sent: 'an aud', expected: 'a rejection (4xx)', got: '200', verdict: 'failed' },
  ...{ remedy: 'Compare aud', ...about },
});
const warning = { level: 'should', verdict: 'warning' } as const;

describe('harmOf()', () => {
  test.each<[what: string, harm: number, about: Partial<ProbedRow>]>([
    ['a server that ended', 0, { got: endOfServer }],
    ['a token that must be rejected', 1, {}],
    ['another path that is open', 1, { id: 'path-case', expected: 'anything but the protected response' }],
    ['a stored response', 1, { id: 'cache-anonymous', expected: 'a rejection of the second' }],
    ["another client's response", 1, { id: 'cache-subject', expected: 'no word of the first in the second' }],
    ['a server error', 3, { id: 'error-json', expected: 'no 5xx', got: '500' }],
    ['a known deviation that is gone', 3, { got: '401 Bearer: it passes again' }],
    ['a good token while the issuer fails', 2, { id: 'fetch-outage', expected: 'success', got: '500', ...warning }],
    [
      'a good token after that',
      2,
      { id: 'fetch-malformed', expected: 'success', got: `401 ${notRecovered}`, ...warning },
    ],
    ['a request without a response', 2, { id: 'no-response', expected: 'a response', got: 'no response', ...warning }],
    ['an ID token', 4, { id: 'kind-id-typ', ...warning }],
    ['another spelling of the scheme', 5, { id: 'scheme-joined', ...warning }],
    ['a challenge without a word', 6, { id: 'challenge-no-error', expected: 'error', got: '401', ...warning }],
    [
      'a rejection that is stored',
      6,
      { id: 'cache-refusal', expected: 'a rejection that no cache may keep', ...warning },
    ],
  ])('has a place for %s', (_, harm, about) => expect(harmOf(row(about))).toBe(harm));

  test('puts what anyone can send before what an issuer must sign', () => {
    const faults = [row({}), row({ id: 'text-opaque', ...warning }), row({ id: 'none-spellings', needs: 'nothing' })];
    expect(byHarm(faults).map(({ id }) => id)).toEqual(['none-spellings', 'audience-other', 'text-opaque']);
  });
});

test('byHarm() puts the remedy that repairs the most rows first among those of one harm', () => {
  const weak = row({ id: 'key-weak', remedy: 'Reject weak keys' });
  const faults = [weak, row({ id: 'audience-other' }), row({ id: 'audience-none' })];
  expect(byHarm(faults).map(({ id }) => id)).toEqual(['audience-other', 'audience-none', 'key-weak']);
  expect(summaryOf(reportOf(faults, [], 'Depth: full'))).toContain('First, for audience-other: Compare aud.');
});

describe('the report begins with a sentence', () => {
  const passed = row({ verdict: 'passed', got: '401' });
  const unclear = row({ id: 'control', verdict: 'inconclusive', got: '403: Name the scope' });
  test.each<[what: string, rows: readonly ProbedRow[], words: string]>([
    [
      'if all is well',
      [passed],
      '1 row with tokens of an issuer of its own: none lets in what must be rejected. First: nothing',
    ],
    [
      'if tokens are let in',
      [passed, row({}), row({ id: 'b' })],
      '3 rows with tokens of an issuer of its own: 2 let in what must be rejected. First, for audience-other: Compare aud.',
    ],
    [
      'without a token',
      [row({ needs: 'nothing' })],
      '1 row without a token: 1 lets in what must be rejected. First, for audience-other: Compare aud.',
    ],
    [
      'if a warning is all',
      [row({ ...warning, remedy: 'Say more' })],
      'none lets in what must be rejected. First, for audience-other: Say more.',
    ],
    [
      'if the run is incomplete',
      [unclear, row(warning)],
      '; 1 was not judged. First: find out why control got "403: Name the scope".',
    ],
    [
      'if the server ended',
      [row({ id: 'b', got: endOfServer, remedy: 'Look into the log' }), row({})],
      ': 1 lets in what must be rejected, and b ended the server. First, for b: Look into the log.',
    ],
    [
      'if a deviation is known',
      [row({ known: 'July' }), passed],
      'none lets in what must be rejected, apart from what is known.',
    ],
  ])('%s', (_, rows, words) => {
    const report = reportOf(rows, [], 'Depth: full');
    expect(summaryOf(report)).toContain(words);
    expect(report.render(false, 1000)).toStartWith(`${summaryOf(report)}\n`);
  });

  test('and goes by harm', () => {
    const rows = [
      row({ id: 'scheme-joined', ...warning }),
      row({ id: 'kind-id-typ', ...warning }),
      row({ id: 'error-json', expected: 'no 5xx', got: '500' }),
      row({}),
    ];
    const shown = reportOf(rows, [], 'Depth: full').render(false, 1000);
    const ids = [...shown.matchAll(/^(?:failed|warning) +(\S+)/gm)].map(([, id]) => id);
    expect(ids).toEqual(['audience-other', 'error-json', 'kind-id-typ', 'scheme-joined']);
    expect(shown).toContain(
      '\nLet in, and must be rejected. Only the issuer can sign these, such as for another API, client or purpose:\nfailed ',
    );
    expect(shown).toEndWith('\n0 passed, 2 failed, 2 warnings, 0 skipped, 0 inconclusive, 0 known\n');
  });
});
