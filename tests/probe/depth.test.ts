import { describe, expect, test } from 'bun:test';
import { createGuard } from '../../src/auth/index.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { careful } from '../../src/probe/http/brake.ts';
import { type Depth, type ProbeOptions, probe } from '../../src/probe/index.ts';
import { junitOf } from '../../src/probe/report/report.ts';
import type { Needs } from '../../src/probe/row/description.ts';
import { ownRows } from '../../src/probe/row/own-rows.ts';
import type { Row } from '../../src/probe/row/row.ts';
import { limits, requestsOf, within } from '../../src/probe/run/choice.ts';
import { plan } from '../../src/probe/run/probe.ts';
import { rows } from '../../src/probe/run/rows.ts';

const depths: readonly Depth[] = ['quick', 'standard', 'full'];
const needs: readonly Needs[] = ['nothing', 'token', 'issuer'];
const url = 'https://api.invalid/messages';
/** So many rows that they send more than any limit. */
const more = Array.from({ length: 10 }, (_, at) => rows.map((row): Row => ({ ...row, id: `${row.id}-${at}` }))).flat();
const isGiven =
  (given: Needs) =>
  ({ needs: needed }: Row) =>
    needs.indexOf(needed) <= needs.indexOf(given);

describe.each(depths)('the depth %s', (depth) => {
  test.each(needs)('keeps its rows within its limit with %s, however many there are', (given) => {
    for (const all of [rows, more])
      expect(requestsOf(within(all, depth, given).filter(isGiven(given)))).toBeLessThanOrEqual(limits[depth]);
  });

  test('is announced', () => {
    const [line] = plan({ targets: [url], depth }, 'issuer');
    expect(line).toMatch(
      new RegExp(`^Depth: ${depth}, \\d+ of ${rows.length + ownRows.length} rows, at most ${limits[depth]} requests `),
    );
  });
});

test('the depths standard and full have every row that there is today', () => {
  for (const depth of ['standard', 'full'] as const) expect(within(rows, depth, 'issuer')).toEqual(rows);
  expect(limits.standard).toBe(careful.requests);
  expect(requestsOf(more)).toBeGreaterThan(limits.full);
});

test('the depth quick has the first of each topic whose faults let a token in', () => {
  const ids = within(rows, 'quick', 'issuer').map(({ id }) => id);
  const first = [
    'none-empty-signature',
    'hmac-pem',
    'signature-stranger',
    'audience-other',
    'issuer-other',
    'expiry-past',
  ];
  expect(ids).toEqual(expect.arrayContaining([...first, 'scope-none', 'no-token-empty-header', 'path-slash']));
  expect(within(rows, 'quick', 'nothing').filter((row) => !isGiven('nothing')(row))).toEqual([]);
});

test('probe() with the depth quick sends at most 120 requests, and the report says so', async () => {
  const issuer = await createTestIssuer();
  const guard = createGuard(issuer.options);
  let sent = 0;
  const report = await probe({
    ...{ issuer, targets: [{ url, scope: 'a' }], depth: 'quick' },
    async fetch(request) {
      sent += 1;
      const result = await guard.check(request, { scope: 'a' });
      return result instanceof Response ? result : Response.json({ sub: result.claims.sub });
    },
  });
  expect([report.failed, report.isComplete]).toEqual([[], true]);
  expect(sent).toBeWithin(60, 121);
  expect(report.render()).toContain(`\n${report.depth}\n`);
  expect(report.depth).toEndWith('rows, at most 120 requests to each target');
});

describe('the first lines, the last line, JSON and JUnit count the same rows', () => {
  const paths = ['/messages', '/me'];
  test.each<[what: string, targets: number, options: Partial<ProbeOptions>, status: number]>([
    ['of a run with an issuer', 1, {}, 401],
    ['of a run at two targets', 2, {}, 401],
    ['of some rows', 1, { only: ['audience'] }, 401],
    ['if the API rejects everything', 1, { only: ['audience'] }, 403],
    ['if the API serves without a token', 1, { only: ['audience'] }, 200],
  ])('%s', async (_, count, options, status) => {
    const issuer = await createTestIssuer();
    const guard = createGuard(issuer.options);
    const report = await probe({
      ...{ issuer, targets: paths.slice(0, count).map((path) => `https://api.invalid${path}`), ...options },
      async fetch(request) {
        const result = await guard.check(request);
        if (status !== 401) return Response.json({}, { status });
        return result instanceof Response ? result : Response.json({ sub: result.claims.sub });
      },
    });
    const total = count * (rows.length + ownRows.length);
    const last =
      report
        .render()
        .trimEnd()
        .split('\n')
        .findLast((line) => line.includes(' passed, ')) ?? '';
    const sum = [...last.matchAll(/\d+/g)].reduce((all, [number]) => all + Number(number), 0);
    expect(report.depth).toContain(`, ${report.rows.length} of ${total} rows, `);
    expect(sum).toBe(report.rows.length);
    expect(junitOf(report)).toContain(` tests="${report.rows.length}" `);
  });
});
