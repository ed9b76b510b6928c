import { describe, expect, test } from 'bun:test';
import { createGuard } from '../../src/auth/index.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { probe } from '../../src/probe/index.ts';
import { harmOf } from '../../src/probe/report/harm.ts';
import { withKnown } from '../../src/probe/report/known.ts';
import { junitOf, reportOf } from '../../src/probe/report/report.ts';
import type { ProbedRow } from '../../src/probe/report/result.ts';
import { rows } from '../../src/probe/run/rows.ts';
import { groupBy } from '../../src/probe/values/group-by.ts';

const row = (about: Partial<ProbedRow>): ProbedRow => ({
  ...{ id: 'audience-other', target: 'GET https://api.invalid/', rule: 'RFC 7519 §4.1.3', level: 'must' },
  ...{ needs: 'issuer', sent: 'an aud', expected: 'a rejection (4xx)', got: '200', verdict: 'failed' },
  ...{ remedy: 'Set the audience', ownCode: 'Compare aud', ...about },
});
const shown = (all: readonly ProbedRow[], columns = 120) => reportOf(all, [], 'Depth: full').render(false, columns);

describe('a remedy', () => {
  const isPlain = (text: string) => /^[A-Z][\x20-\x7e§]{10,119}[^.]$/.test(text);

  test('of each row is what to set, and what to write where something is let in', () => {
    const texts = rows.flatMap(({ remedy, ownCode = [] }) => [remedy, ownCode].flat());
    expect(texts.filter((text) => !isPlain(text))).toEqual([]);
    // A rule of clients is kept in one way.
    const letsIn = rows.filter((each) => [1, 4, 5].includes(harmOf({ ...each, got: '200' })) && each.onlyIn !== 'mcp');
    expect(letsIn.filter(({ ownCode }) => ownCode === undefined).map(({ id }) => id)).toEqual([]);
    expect(rows.filter(({ remedy, ownCode }) => remedy === ownCode)).toEqual([]);
  });

  test('for code of one’s own stands apart, once, with the rows that it repairs', () => {
    const ids = ['a', 'b', 'c', 'd', 'e'].map((id) => row({ id }));
    const [set = '', write = ''] = shown([...ids, row({ id: 'f', ownCode: undefined })]).split(
      '\nIf you write the validation yourself:\n',
    );
    expect(set).toContain('Expected a rejection (4xx) (RFC 7519 §4.1.3). Set the audience');
    expect(set).not.toContain('Compare aud');
    expect(write).toStartWith(`${' '.repeat(13)}Compare aud: a, b, c and 2 more\n\n`);
    expect(shown([row({ ownCode: undefined })])).not.toContain('yourself');
  });
});

describe('the report', () => {
  test('has one paragraph for a remedy, with the rules of its rows', () => {
    const all = [row({}), row({ id: 'audience-list', rule: 'RFC 8725 §3.9' })];
    expect(shown(all, 1000)).toContain(
      'Expected a rejection (4xx) (RFC 7519 §4.1.3; RFC 8725 §3.9). Set the audience\n',
    );
  });

  test('has one line for a row that fails alike at several targets', () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((path) => row({ target: `GET /${path}` }));
    expect(shown(all).match(/^failed .*/gm)).toEqual([
      'failed       audience-other  an aud: 200 at GET /a, GET /b, GET /c and 2 more',
    ]);
  });

  test.each([80, 100, 120])('has no line over %i columns', (columns) => {
    const words = 'word '.repeat(40).trim();
    const all = [
      row({ sent: words, ownCode: words }),
      row({ id: 'credentials-two-headers-basic', verdict: 'warning' }),
    ];
    const [, ...lines] = shown(all, columns).split('\n');
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  });
});

test('a report of 20,000 faults is written in time, as text and for CI systems', () => {
  const all = Array.from({ length: 20_000 }, (_, at) =>
    row({ id: `a-${at}`, target: `GET /${at}`, got: `20${at % 7}` }),
  );
  const skipped = all.map((each): ProbedRow => ({ ...each, verdict: 'skipped' }));
  const start = performance.now();
  for (const rows of [all, skipped]) {
    const report = reportOf(rows, [], 'Depth: full');
    expect(report.render().length + junitOf(report).length).toBeGreaterThan(20_000);
  }
  expect(performance.now() - start).toBeLessThan(20_000);
});

test('groupBy() takes linear time for one group', () => {
  const start = performance.now();
  expect(
    groupBy(
      Array.from({ length: 200_000 }, (_, at) => at),
      () => 'one',
    ).get('one'),
  ).toHaveLength(200_000);
  expect(performance.now() - start).toBeLessThan(10_000);
});

test('a run that has stopped says so in one row for all other targets', async () => {
  const paths = ['a', 'b', 'c', 'd'];
  const report = await probe({
    targets: paths.map((path) => `https://api.invalid/${path}`),
    fetch: ({ url }) => {
      if (url.endsWith('/b')) return new Response(null, { status: 429, headers: { 'retry-after': '60' } });
      return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    },
    only: ['none'],
  });
  expect(report.rows.at(-1)).toMatchObject({
    target: 'GET https://api.invalid/c and 1 more',
    verdict: 'inconclusive',
    got: 'Not tried: The API asks to wait for 60 seconds',
  });
  expect(report.isComplete).toBe(false);
});

test('a row with several requests says which one was let in, and shows nothing of a good token', async () => {
  const { token: mint, options } = await createTestIssuer();
  const token = await mint();
  const isOpen = ({ url, headers }: Request) =>
    /x\.css$|debug=true$/.test(url) ||
    /\.css$/.test(url) ||
    /^JWT |, Bearer e30/.test(headers.get('authorization') ?? '');
  const report = await probe({
    ...{ token, keys: options.keys, targets: ['https://api.invalid/messages'] },
    fetch: (request) =>
      isOpen(request) || request.headers.get('authorization') === `Bearer ${token}`
        ? new Response('report')
        : new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
  });
  const gotOf = (id: string) => report.rows.find((each) => each.id === id)?.got;
  expect(gotOf('path-extension')).toBe('200 (variant 2 of 3: /messages/x.css)');
  expect(gotOf('path-query')).toBe('200 (variant 3 of 4: ?x=.css)');
  expect(gotOf('scheme-other')).toBe('200 (variant 2 of 4: Authorization: JWT TOKEN)');
  const cut = '200 (variant 1 of 2: Authorization: Bearer TOKEN, Authorization: Bearer e30.e30.e...)';
  expect(gotOf('credentials-two-headers-bad')).toBe(cut);
  expect(JSON.stringify(report)).not.toContain(token.split('.')[2] ?? token);
});

test('JUnit escapes what a server said, hides the tokens of others, and has the setting of the stack', () => {
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln';
  const got = `200 "a" <b> & ü ${jwt}`;
  const junit = junitOf(reportOf([row({ got, setting: 'In PyJWT: audience' })], [], 'Depth: full'));
  expect(junit).toContain('message="failed: 200 &#34;a&#34; &#60;b&#62; &#38; \\u00fc ***"');
  expect(junit).toContain('Set the audience. In PyJWT: audience<');
});

test('a report is complete if something was tried, and nothing is inconclusive', () => {
  const isComplete = (...verdicts: ProbedRow['verdict'][]) =>
    reportOf(
      verdicts.map((verdict) => row({ verdict })),
      [],
      'Depth: full',
    ).isComplete;
  expect([isComplete('passed'), isComplete('failed', 'skipped')]).toEqual([true, true]);
  expect([isComplete('skipped'), isComplete('passed', 'inconclusive')]).toEqual([false, false]);
});

test('a row that passes again has no other advice than to remove it', () => {
  const [again] = withKnown([row({ verdict: 'passed', setting: 'Set it' })], { 'audience-other': 'A reason' });
  const remedy = 'Remove it from the known deviations';
  expect(again).toMatchObject({ verdict: 'failed', remedy, ownCode: undefined, setting: undefined });
});

test.each([
  ['500', 'Return a 401 instead of a 500'],
  ['429', 'not judged\n'],
])('a report with %s says how to complete it', (got, cure) =>
  expect(shown([row({ verdict: 'inconclusive', got })], 1000)).toContain(cure),
);

test('a row is inconclusive if one of its requests got a server error', async () => {
  const issuer = await createTestIssuer();
  const guard = createGuard(issuer.options);
  const report = await probe({
    issuer,
    targets: ['https://api.invalid/messages'],
    async fetch(request) {
      const [header = ''] = request.headers.get('authorization')?.replace('Bearer ', '').split('.') ?? [];
      if (/"none"/i.test(Buffer.from(header, 'base64url').toString())) return new Response(null, { status: 500 });
      const result = await guard.check(request);
      return result instanceof Response ? result : Response.json({ sub: result.claims.sub });
    },
    only: ['none'],
  });
  const verdicts = report.rows.filter(({ id }) => id.startsWith('none')).map(({ verdict }) => verdict);
  expect(new Set(verdicts)).toEqual(new Set(['inconclusive']));
});
