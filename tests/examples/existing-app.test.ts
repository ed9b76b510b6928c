import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, type RunningProcess, run, untilReachable } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

interface Row {
  readonly name: string;
  readonly path: string;
  readonly init?: RequestInit;
  /** The scopes of the token; no token without it. */
  readonly scope?: string;
  readonly status: number;
  readonly body: unknown;
  readonly challenge?: string;
}

const problem = (status: number, title: unknown) => ({ type: 'about:blank', status, title });
const order = (item: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ item }),
});

const rows: readonly Row[] = [
  { name: 'a public route', path: '/health', status: 200, body: 'ok' },
  { name: 'a preflight', path: '/orders', init: { method: 'OPTIONS' }, status: 204, body: '' },
  { name: 'a token', path: '/orders', scope: '', status: 200, body: { customer: 'client-1', orders: [] } },
  { name: 'the scope', path: '/orders', init: order('tea'), scope: 'write:orders', status: 201, body: { item: 'tea' } },
  {
    name: 'no token',
    path: '/orders',
    status: 401,
    body: problem(401, 'Authorization header is expected'),
    challenge: 'Bearer',
  },
  {
    name: 'no scope',
    path: '/orders',
    init: order('tea'),
    scope: '',
    status: 403,
    body: problem(403, 'Token does not have the scope that this resource requires'),
    challenge: 'error="insufficient_scope"',
  },
  {
    name: 'a wrong body',
    path: '/orders',
    init: order(1),
    scope: 'write:orders',
    status: 422,
    body: problem(422, 'Cannot answer: VALIDATION'),
  },
  { name: 'no such path', path: '/nothing', status: 404, body: problem(404, 'Cannot answer: NOT_FOUND') },
];

describe('examples/existing-app.ts', () => {
  let issuer: Issuer;
  let app: RunningProcess;
  let origin: string;

  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    const port = String(await freePort());
    origin = `http://127.0.0.1:${port}`;
    const command = [process.execPath, 'run', join(import.meta.dir, '../../examples/existing-app.ts')];
    app = run(command, { ISSUER: issuer.url, AUDIENCE, PORT: port });
    await untilReachable(origin, app);
  }, 120_000);
  afterAll(async () => {
    app.signal('SIGKILL');
    await Promise.all([app.finished, issuer.close()]);
  });

  for (const { name, path, init, scope, status, body, challenge } of rows) {
    test(`answers ${init?.method ?? 'GET'} ${path} with ${name}: ${status}`, async () => {
      const token = scope === undefined ? {} : bearer(mintToken(issuer.url, { claims: { scope } }));
      const headers = { origin: 'https://spa.example.test', ...init?.headers, ...token };
      const response = await fetch(origin + path, { ...init, headers });
      const text = await response.text();
      expect(response.status).toBe(status);
      expect(typeof body === 'string' ? text : JSON.parse(text)).toEqual(body);
      expect(response.headers.get('access-control-allow-origin')).toBe('https://spa.example.test');
      expect(response.headers.get('www-authenticate') ?? '').toContain(challenge ?? '');
    });
  }
});
