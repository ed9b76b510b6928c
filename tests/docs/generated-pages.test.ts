import { describe, expect, test } from 'bun:test';
import { optionsFromEnvironment } from 'protected-api';
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
