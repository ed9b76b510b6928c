import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Environment, type RunningProcess, run, untilProcess } from '../support/child-process.ts';
import { bearer, fixtureFor } from '../support/fixture.ts';
import { type Form, fetchFrom } from '../support/forms.ts';
import { rsaKey } from '../support/keys.ts';
import { rawGet } from '../support/raw-http.ts';

type Start = (environment: Environment) => RunningProcess | Promise<RunningProcess>;

/** Starts an example before the tests of the enclosing describe(). It prints the address at which it listens. */
export function exampleFixture(
  name: string,
  start: Start = (environment) => run([process.execPath, 'run', join(import.meta.dir, '../..', name)], environment),
) {
  const form: Form = {
    name,
    startTimeoutMs: 120_000,
    async start(settings) {
      const server = await start({ PATH: process.env.PATH ?? '', PORT: '0', ...settings });
      const originIn = () => /http:\S+\d(?=\s)/.exec(server.stdout())?.[0] ?? '';
      await untilProcess(server, () => originIn() !== '', name);
      const origin = originIn();
      const close = async () => {
        server.signal('SIGKILL');
        return (await server.finished).status;
      };
      return { origin, fetch: fetchFrom(origin), output: server.stdout, close };
    },
  };
  return fixtureFor(form);
}

const path = '/reports';
const scope = 'read:reports';
/** Every 401 names the scope, so that a client requests the right token at once. */
const named = `Bearer scope="${scope}"`;
const stranger = rsaKey('stranger');

const rows = [
  ['the scope', 'GET', { claims: { scope } }, 200, ''],
  ['no token', 'GET', undefined, 401, named],
  ['no token', 'HEAD', undefined, 401, named],
  ['another scope', 'GET', {}, 403, 'error="insufficient_scope"'],
  ['an expired token', 'GET', { claims: { scope, exp: 1 } }, 401, 'error="invalid_token"'],
  ['a token that another key signed', 'GET', { claims: { scope }, key: stranger }, 401, 'error="invalid_token"'],
] as const;

/** Registers the tests of an example, for any server. `second` is the status of a request with two Authorization headers. */
export function serverRows(name: string, start?: Start, second = 401) {
  describe(name, () => {
    const fixture = exampleFixture(name, start);

    for (const [what, method, token, status, challenge] of rows)
      test(`answers ${status} to ${method} with ${what}`, async () => {
        const headers = token ? bearer(fixture().mint(token)) : {};
        const response = await fixture().service.fetch(path, { method, headers });
        expect(response.status).toBe(status);
        expect(response.headers.get('www-authenticate') ?? '').toContain(challenge);
        if (status === 200) expect(await response.json()).toEqual({ hello: 'client-1' });
      });

    test(`answers ${second} to two Authorization headers`, async () => {
      const line = `Authorization: Bearer ${fixture().mint({ claims: { scope } })}`;
      const { origin } = fixture().service;
      expect((await rawGet(origin, path, [line])).status).toBe(200);
      expect((await rawGet(origin, path, [line, line])).status).toBe(second);
    });

    test('serves what is public', async () => {
      expect(await (await fixture().service.fetch('/health')).text()).toBe('ok');
    });
  });
}
