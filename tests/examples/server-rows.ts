import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type RunningProcess, untilProcess } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, type TokenOverrides } from '../support/mint.ts';
import { rawGet } from '../support/raw-http.ts';

const path = '/reports';
const scope = 'read:reports';
/** Every 401 names the scope, so that a client requests the right token at once. */
const named = `scope="${scope}"`;

interface Row {
  readonly name: string;
  /** No token without it. */
  readonly token?: TokenOverrides;
  readonly method?: string;
  readonly status: number;
  readonly challenge?: string;
}

const rows: readonly Row[] = [
  { name: 'the scope', token: { claims: { scope } }, status: 200 },
  { name: 'no token', status: 401, challenge: `Bearer ${named}` },
  { name: 'no token', method: 'HEAD', status: 401, challenge: `Bearer ${named}` },
  { name: 'another scope', token: {}, status: 403, challenge: 'error="insufficient_scope"' },
  { name: 'an expired token', token: { claims: { scope, exp: 1 } }, status: 401, challenge: 'error="invalid_token"' },
  {
    name: 'a token that another key signed',
    token: { claims: { scope }, key: rsaKey('stranger') },
    status: 401,
    challenge: 'error="invalid_token"',
  },
];

/** Registers the tests of an example, for any server. The examples print the address at which they listen. */
export function serverRows(
  name: string,
  start: (environment: Readonly<Record<string, string>>) => Promise<RunningProcess>,
) {
  describe(name, () => {
    let issuer: Issuer;
    let server: RunningProcess;
    let origin = '';

    beforeAll(async () => {
      issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
      server = await start({ PATH: process.env.PATH ?? '', ISSUER: issuer.url, AUDIENCE, PORT: '0' });
      await untilProcess(server, () => server.stdout().includes('\n'), name);
      origin = /http:\S+\d/.exec(server.stdout())?.[0] ?? '';
    }, 120_000);
    afterAll(async () => {
      server.signal('SIGKILL');
      await Promise.all([server.finished, issuer.close()]);
    });

    for (const { name: what, token, method = 'GET', status, challenge = '' } of rows) {
      test(`answers ${status} to ${method} with ${what}`, async () => {
        const headers = token ? bearer(mintToken(issuer.url, token)) : {};
        const response = await fetch(origin + path, { method, headers, keepalive: false });
        expect(response.status).toBe(status);
        expect(response.headers.get('www-authenticate') ?? '').toContain(challenge);
        if (status === 200) expect(await response.json()).toEqual({ hello: 'client-1' });
      });
    }

    test('answers 401 to two Authorization headers', async () => {
      const line = `Authorization: Bearer ${mintToken(issuer.url, { claims: { scope } })}`;
      expect((await rawGet(origin, path, [line])).status).toBe(200);
      expect((await rawGet(origin, path, [line, line])).status).toBe(401);
    });

    test('serves what is public', async () => {
      expect(await (await fetch(`${origin}/health`, { keepalive: false })).text()).toBe('ok');
    });
  });
}
