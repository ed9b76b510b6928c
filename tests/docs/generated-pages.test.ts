import { describe, expect, test } from 'bun:test';
import { optionsFromEnvironment } from 'protected-api';
import { requirements, withRequirements } from '../../scripts/requirements-table.ts';
import { envExample, options, processSettings, settingsPage } from '../../scripts/settings-page.ts';
import { settingOf } from '../../src/auth/options/setting.ts';
import { processRules, readSettings } from '../../src/settings.ts';
import type { Environment } from '../../src/settings-warnings.ts';
import { readText } from '../support/repository.ts';

const documented = [...options, ...processSettings];

describe('bun run docs', () => {
  test.each(Object.entries({ 'docs/settings.md': settingsPage, '.env.example': envExample }))(
    'has written %s as it would now',
    async (file, generate) => expect(await readText(file)).toBe(generate()),
  );

  test('has written the table of requirements of the quick reference, whose blocks show what they name', async () => {
    const page = await readText('docs/quick-reference.md');
    expect(page).toBe(withRequirements(page));
    for (const [name, contains, shown] of requirements)
      for (const cell of shown) {
        if (cell === undefined || !('block' in cell)) continue;
        const [path = '', heading] = cell.block.replace(/ \d$/, '').split('#');
        const [first, ...sections] = (await readText(`docs/${path}.md`)).split(/^##+ (?!\d\. )/m);
        const section = heading === undefined ? first : sections.find((text) => text.startsWith(`${heading}\n`));
        const blocks = section?.match(/^ *```(?:ts|js)\b(?:.*\n)+?^ *```$/gm) ?? [];
        const block = blocks[Number(/ (\d)$/.exec(cell.block)?.[1] ?? 1) - 1] ?? '';
        expect({ name, block: cell.block, text: block }).toEqual({
          ...{ name, block: cell.block },
          text: expect.stringMatching(contains),
        });
        expect(block).toMatch(/protected-api|\bguard\b/);
      }
  });

  const assignments = [...envExample().matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  const required = { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'https://api.example.test' };

  test('writes an .env.example that sets nothing when it is copied unchanged, and shows the real defaults', () => {
    expect(envExample()).not.toMatch(/^[A-Z_]+=./m);
    // systemd would take the next line for the comment's.
    expect(envExample()).not.toMatch(/\\$/m);
    const read = (environment: Environment) => {
      const { optionsAt, warnings, ...settings } = readSettings(environment, false);
      return {
        ...settings,
        ...optionsAt(0),
        warnings: warnings.filter(({ message }) => !/DPOP is off$/.test(message)),
      };
    };
    expect(read({ ...Object.fromEntries(assignments), ...required })).toEqual(read(required));
  });

  test('writes an .env.example with each setting that the service reads, once', () => {
    const read = [...optionsFromEnvironment.settingNames, ...Object.keys(processRules).map(settingOf)];
    expect(assignments.map(([name]) => name).toSorted()).toEqual(read.toSorted());
  });

  test('documents the bounds and values of the rules', () => {
    for (const { name, meaning, expected } of documented) {
      const bounds = /from (\d+) to (\d+)$/.exec(expected)?.slice(1) ?? [];
      const words = /^(?:one of|a list of (?=[A-Z]{2}))([^(]+)/.exec(expected)?.[1]?.match(/[\w+]+/g) ?? [];
      const limits = bounds.map((bound) => Number(bound).toLocaleString('en'));
      for (const word of [...limits, ...words].filter((each) => each !== 'or'))
        expect(meaning, name).toMatch(new RegExp(`(?<![\\w,])${RegExp.escape(word)}(?![\\w+])`));
    }
  });

  test('documents the defaults of the rules', () => {
    for (const { name, meaning, fallback, kind } of documented) {
      const stated = / Defaults to (.+?)[.:](?: |$)/.exec(meaning)?.[1]?.replaceAll(',', '');
      const isCode = kind === 'code' || kind === 'pairs' || fallback === undefined;
      if (!isCode && stated !== 'all') expect({ name, stated }).toEqual({ name, stated: [fallback].flat().join(' ') });
    }
  });
});
