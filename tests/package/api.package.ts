import { expect, test } from 'bun:test';
import { apiReport, reportFile } from '../../scripts/api-report.ts';

test('bun run docs has written tests/api.md, which describes the public API, as it would now', async () =>
  expect(await Bun.file(reportFile).text()).toBe(await apiReport()));
