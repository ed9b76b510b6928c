import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { apiReports } from '../../scripts/api-report.ts';

const folder = join(import.meta.dir, '../../docs/api');

test('docs/api describes the public API as it is: `bun run docs` updates it', async () => {
  const reports = await apiReports();
  expect([...reports.keys()].toSorted()).toEqual([...new Bun.Glob('*').scanSync(folder)].toSorted());
  for (const [name, text] of reports) expect(await Bun.file(join(folder, name)).text(), name).toBe(text);
});
