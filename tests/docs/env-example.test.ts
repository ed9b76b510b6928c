import { describe, expect, test } from 'bun:test';
import { type Environment, readSettings } from '../../src/settings.ts';
import { readText } from '../support/repository.ts';

const text = await readText('.env.example');
const documented = [...text.matchAll(/^(?:# )?([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
const required = { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'https://api.example.test' };

describe('.env.example', () => {
  test('sets nothing when it is copied as it is', () => expect(text).not.toMatch(/^[A-Z_]+=./m));

  test('shows the real defaults', () => {
    const read = (environment: Environment) => {
      const settings = readSettings(environment, false);
      return { ...settings, optionsAt: settings.optionsAt(0) };
    };
    expect(read({ ...Object.fromEntries(documented), ...required })).toEqual(read(required));
  });

  test('lists every setting that the service reads', () => {
    const read = new Set<string>();
    const spy = new Proxy<Record<string, string>>(required, {
      get(target, name) {
        read.add(String(name));
        return Reflect.get(target, name);
      },
    });
    readSettings(spy, false);
    read.delete('NODE_ENV');
    const names = documented.map(([name = '']) => name);
    expect([...read].filter((name) => !names.includes(name))).toEqual([]);
    expect(names).toEqual([...new Set(names)]);
  });
});
