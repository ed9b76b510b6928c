import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { apiReports } from '../../scripts/api-report.ts';
import { envExample, options, processSettings, settingsPage } from '../../scripts/settings-page.ts';
import { readText, root } from '../support/repository.ts';

const documented = [...options, ...processSettings];

describe('bun run docs', () => {
  test.each(Object.entries({ 'docs/settings.md': settingsPage, '.env.example': envExample }))(
    'has written %s as it would now',
    async (file, generate) => expect(await readText(file)).toBe(generate()),
  );

  test('has written docs/api, which describes the public API, as it would now', async () => {
    const reports = await apiReports();
    const written = [...new Bun.Glob('*').scanSync(join(root, 'docs/api'))];
    expect([...reports.keys()].toSorted()).toEqual(written.toSorted());
    for (const [name, text] of reports) expect(await readText(`docs/api/${name}`), name).toBe(text);
  });

  test('documents bounds and words as the rules have them', () => {
    for (const { name, meaning, expected } of documented) {
      const bounds = /from (\d+) to (\d+)$/.exec(expected)?.slice(1) ?? [];
      const words = /^(?:one of|a list of (?=[A-Z]{2}))(.+)$/.exec(expected)?.[1]?.match(/[\w+]+/g) ?? [];
      const limits = bounds.map((bound) => Number(bound).toLocaleString('en'));
      for (const word of [...limits, ...words].filter((each) => each !== 'or'))
        expect(meaning, name).toMatch(new RegExp(`(?<![\\w,])${RegExp.escape(word)}(?![\\w+])`));
    }
  });

  test('documents defaults as the rules have them', () => {
    for (const { name, meaning, fallback, kind } of documented) {
      const stated = / Defaults to (.+?)[.:](?: |$)/.exec(meaning)?.[1]?.replaceAll(',', '');
      const isCode = kind === 'code' || kind === 'pairs' || fallback === undefined;
      if (!isCode && stated !== 'all') expect({ name, stated }).toEqual({ name, stated: String(fallback) });
    }
  });
});
