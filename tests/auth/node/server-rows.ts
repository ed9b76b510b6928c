import { describe, expect, test } from 'bun:test';
import { connect } from 'node:http2';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import { certificate } from '../../support/certificates.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { origin, requirements } from './servers.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const path = '/api/reports';
export const options = { ...issuer.options, publicUrl };
const { scope } = requirements;
const [ada, visitor, fault, bound, certified] = await Promise.all([
  issuer.token({ sub: 'ada', scope }),
  issuer.token({ sub: 'ada' }),
  issuer.token({ sub: 'fault', scope }),
  issuer.token({ sub: 'ada', scope }, { boundTo: 'dpop' }),
  issuer.token({ sub: 'ada', scope }, { boundTo: certificate('a').der }),
]);
const proof = (method = 'GET', at = path) => issuer.proof({ method, url: publicUrl + at }, bound);
const bearer = (token: string) => `Authorization: Bearer ${token}`;
const certificateLine = `Client-Cert: ${certificate('a').field}`;
const dpop = async (...of: Parameters<typeof proof>) => [`Authorization: DPoP ${bound}`, `DPoP: ${await proof(...of)}`];
const get = `GET ${path} HTTP/1.1`;

/** Request line, Host, other header lines, and the status. */
const rows: readonly (readonly [
  string,
  string,
  string,
  () => readonly string[] | Promise<readonly string[]>,
  number,
])[] = [
  ['a token with the scope', get, 'a', () => [bearer(ada)], 200],
  ['no token', get, 'a', () => [], 401],
  ['a token without the scope', get, 'a', () => [bearer(visitor)], 403],
  ['two Authorization headers', get, 'a', () => [bearer(ada), bearer(ada)], 401],
  ['a Host that is no host', get, 'a b/c?', () => [bearer(ada)], 200],
  ['an absolute URL', `GET http://a${path} HTTP/1.1`, 'a', () => [bearer(ada)], 200],
  ['TRACE', `TRACE ${path} HTTP/1.1`, 'a', () => [bearer(ada)], 200],
  ['TRACE without a token', `TRACE ${path} HTTP/1.1`, 'a', () => [], 401],
  ['HEAD without a token', `HEAD ${path} HTTP/1.1`, 'a', () => [], 401],
  [
    'a body',
    `POST ${path} HTTP/1.1`,
    'a',
    () => [bearer(ada), 'Content-Type: text/plain', 'Content-Length: 4', '', 'body'],
    200,
  ],
  ['a proof', get, 'a', () => dpop(), 200],
  ['a proof and a query', `GET ${path}?a=/b HTTP/1.1`, 'a', () => dpop(), 200],
  ['a proof for the path after that in the Host', get, 'a/x', () => dpop('GET', `/x${path}`), 401],
  ['a proof for another method', get, 'a', () => dpop('POST'), 401],
  ['two proofs', get, 'a', async () => [...(await dpop()), `DPoP: ${await proof()}`], 401],
  ['a certificate', get, 'a', () => [bearer(certified), certificateLine], 200],
  ['two certificates', get, 'a', () => [bearer(certified), certificateLine, certificateLine], 401],
  ['an exception of a callback', get, 'a', () => [bearer(fault)], 500],
  ['a route without a guard', 'GET /open HTTP/1.1', 'a', () => [bearer(ada)], 500],
];

/** Registers the tests of each server, by its name and where it listens. */
export function serverRows(urlOf: (name: string) => string) {
  describe.each(['Express 5', 'Express 4', 'Connect', 'NestJS', 'Fastify', 'Koa'])('%s', (name) => {
    const send = (line: string, host: string, lines: readonly string[]) =>
      rawRequest(urlOf(name), [line, `Host: ${host}`, 'Connection: close', ...lines]);

    test.each(rows)('responds to %s', async (_, line, host, lines, status) => {
      const answer = await send(line, host, await lines());
      expect(answer.status).toBe(status);
      if (status === 200) expect(await answer.response?.text()).toBe('ada');
    });

    test('rejects a proof that was used', async () => {
      const lines = await dpop();
      expect((await send(get, 'a', lines)).status).toBe(200);
      expect((await send(get, 'a', lines)).status).toBe(401);
    });

    test('sends the whole rejection, with the headers of CORS', async () => {
      const { response } = await send(get, 'a', [bearer(visitor)]);
      expect(response?.headers.get('content-type')).toBe('application/json');
      expect(response?.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
      expect(response?.headers.get('access-control-allow-origin')).toBe(origin);
      expect(await response?.json()).toEqual({ code: 'Unauthorized', description: expect.any(String) });
    });
  });

  describe('node:http2', () => {
    test.each([
      ['a token with the scope', async () => ({ authorization: `Bearer ${ada}` }), 200],
      ['no token', async () => ({}), 401],
      ['a proof', async () => ({ authorization: `DPoP ${bound}`, dpop: await proof() }), 200],
      ['two proofs', async () => ({ authorization: `DPoP ${bound}`, dpop: [await proof(), await proof()] }), 401],
    ])('responds to %s', async (_, headers, status) => {
      const client = connect(urlOf('node:http2'));
      const stream = client.request({ ':path': path, ...(await headers()) });
      const received = new Promise((done) => stream.on('response', (response) => done(response[':status'])));
      expect(await received).toBe(status);
      client.close();
    });
  });
}
