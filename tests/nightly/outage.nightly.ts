import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { readText, root } from '../support/repository.ts';

test.each(['README.md', 'docs/index.md'])('%s shows what bench/outage.ts prints', async (page) => {
  const [, shown = ''] = /^```text\n(It is down.*?)^```$/ms.exec(await readText(page)) ?? [];
  const { stdout } = await runToEnd([process.execPath, 'run', join(root, 'bench/outage.ts')]);
  expect(stdout).toEndWith(shown);
  expect(shown).toContain('100 × 401');
});
