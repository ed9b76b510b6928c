import { describe, expect, test } from 'bun:test';
import { createGuard } from '../../src/auth/guard.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { careful } from '../../src/probe/http/brake.ts';
import { type Depth, probe } from '../../src/probe/index.ts';
import type { Needs, Row } from '../../src/probe/row/row.ts';
import { limits, requestsOf, within } from '../../src/probe/run/choice.ts';
import { plan } from '../../src/probe/run/probe.ts';
import { rows } from '../../src/probe/run/rows.ts';

const depths: readonly Depth[] = ['quick', 'standard', 'full'];
const needs: readonly Needs[] = ['nothing', 'token', 'issuer'];
const url = 'https://api.invalid/reports';
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
      new RegExp(`^Depth: ${depth}, \\d+ of ${rows.length} rows, at most ${limits[depth]} requests `),
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
