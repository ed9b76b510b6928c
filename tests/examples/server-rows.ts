import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { requestRows } from '../../src/probe/run/rows.ts';
import { oneOfEach, probed } from '../http/table/probed.ts';
import { certificate } from '../support/certificates.ts';
import { type Environment, type RunningProcess, run } from '../support/child-process.ts';
import { fixtureFor } from '../support/fixture.ts';
import { type Form, type Service, startService } from '../support/forms.ts';
import { bearer, type TokenOverrides } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { bound, makeProof } from '../support/proof.ts';
import { rawGet, rawRequest } from '../support/raw-http.ts';
import { root } from '../support/repository.ts';

export function toService({ origin }: Service, { url, method, headers }: Request): Promise<Response> {
  return fetch(url.replace(publicUrl, origin), { method, headers, keepalive: false });
}

type Start = (environment: Environment) => RunningProcess | Promise<RunningProcess>;

/** Starts an example before the tests of the enclosing describe(). */
export function exampleFixture(
  name: string,
  start: Start = (environment) => run([process.execPath, 'run', join(root, name)], environment),
  settings: Environment = {},
) {
  const form: Form = { name, start: (given) => startService(start, given) };
  return fixtureFor(form, { settings });
}

const path = '/messages';
const scope = 'read:messages';
/** Every 401 names the scope, so that a client requests the right token at once. */
const named = `Bearer scope="${scope}"`;

const rows = [
  ['the scope', 'GET', { claims: { scope } }, 200, ''],
  ['no token', 'GET', undefined, 401, named],
  ['no token', 'HEAD', undefined, 401, named],
  ['another scope', 'GET', { claims: { scope: 'read:orders' } }, 403, 'error="insufficient_scope"'],
] as const;

const metadataRows = Object.entries({ GET: 200, HEAD: 200, OPTIONS: 204, PUT: 405 });
const publicUrl = 'https://api.example.test';
const withKey = { claims: { scope, cnf: bound } };
const certified = { claims: { scope, cnf: { 'x5t#S256': certificate('a').thumbprint } } };
const plain = (token: string) => [`Authorization: Bearer ${token}`];
const certificateLine = `Client-Cert: ${certificate('a').field}`;
const withCertificate = (token: string) => [...plain(token), certificateLine];
/** Returns the headers of a request with a proof for this path. */
const prove = (token: string, at = path) => [
  `Authorization: DPoP ${token}`,
  `DPoP: ${makeProof({ url: publicUrl + at, token })}`,
];
const proveOther = (token: string) => prove(token, `/x${path}`);
const proveTwice = (token: string) => [...prove(token), ...prove(token).slice(1)];

/** Faults in the conversion of a Node.js request: its target, the token, the Host, other headers, the status. */
const nodeRows: readonly [string, string, TokenOverrides, string, (token: string) => readonly string[], number][] = [
  ['an invalid Host', path, { claims: { scope } }, 'a b/c?', plain, 200],
  ['a proof', `${path}?a=/b`, withKey, 'a', prove, 200],
  ['a proof and an absolute URL', `http://a${path}`, withKey, 'a', prove, 200],
  ['a proof for the path that follows the Host', path, withKey, 'a/x', proveOther, 401],
  ['two proofs', path, withKey, 'a', proveTwice, 401],
  ['a certificate', path, certified, 'a', withCertificate, 200],
  ['two certificates', path, certified, 'a', (token) => [...withCertificate(token), certificateLine], 401],
];

/**
 * The rows about requests, and one of each topic about tokens: the others are tried on the service and on the guard
 * itself. By day, only one example for each kind of request gets all of them.
 */
const requestIds = requestRows.flatMap(({ id, onlyIn }) => (onlyIn ? [] : [id]));
const onlyFor = (name: string) => [
  ...(isNight || /(?:bun-serve|express)\.ts$/.test(name) ? requestIds : []),
  ...[...oneOfEach, 'credentials', 'dpop', 'signature', 'scope'],
];

/** The examples with CORS and metadata, and those of them that convert a Node.js request. */
const completeExamples = /(express|fastify|koa|nest|hono-.*)\.ts$/;
const nodeExamples = /(express|fastify|koa|nest)\.ts$/;

/**
 * Registers the tests of an example, for any server. `second` is the status of a request with two Authorization
 * headers.
 */
export function serverRows(name: string, start?: Start, second = 400) {
  const usesNode = nodeExamples.test(name);
  const isComplete = completeExamples.test(name);
  describe(name, () => {
    const settings = { DPOP: 'on', PUBLIC_URL: publicUrl, CLIENT_CERTIFICATE: 'client-cert' };
    const fixture = exampleFixture(name, start, isComplete ? settings : {});

    test('withstands the probe', async () => {
      const { service } = fixture();
      const fetch = async (request: Request) =>
        request.url.startsWith(publicUrl) ? toService(service, request) : new Response(null, { status: 404 });
      // A proof is for the public URL. Without one, rows go over the network as they are.
      const targets = [{ url: (isComplete ? publicUrl : service.origin) + path, scope }];
      // A server that passes on one Authorization header cannot tell that there were two.
      const skip = second === 200 ? ['', '-bad', '-basic'].map((end) => `credentials-two-headers${end}`) : [];
      const { report } = await probed(fixture(), { targets, only: onlyFor(name), skip, ...(isComplete && { fetch }) });
      expect(report.passed.length).toBeGreaterThan(50);
    });

    for (const [what, method, token, status, challenge] of rows)
      test(`responds with ${status} to ${method} with ${what}`, async () => {
        const headers = token ? bearer(fixture().mint(token)) : {};
        const response = await fixture().service.fetch(path, { method, headers });
        expect(response.status).toBe(status);
        expect(response.headers.get('www-authenticate') ?? '').toContain(challenge);
        if (isComplete) {
          expect(response.headers.get('access-control-allow-origin')).toBe('*');
          expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
        }
        if (status === 200) expect(await response.json()).toEqual({ hello: 'client-1' });
        else if (method === 'GET')
          expect(await response.json()).toEqual({ error: expect.any(String), error_description: expect.any(String) });
      });

    test(`responds with ${second} to two Authorization headers`, async () => {
      const line = `Authorization: Bearer ${fixture().mint({ claims: { scope } })}`;
      const { origin } = fixture().service;
      expect((await rawGet(origin, path, [line])).status).toBe(200);
      expect((await rawGet(origin, path, [line, line])).status).toBe(second);
    });

    for (const [method, status] of isComplete ? metadataRows : [])
      test(`responds with ${status} to ${method} for the metadata, which pages of every origin can read`, async () => {
        const headers = { origin: 'https://spa.example.test', 'access-control-request-method': 'GET' };
        const response = await fixture().service.fetch('/.well-known/oauth-protected-resource', { method, headers });
        // Two headers would become `*, *`, which browsers reject.
        expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([status, '*']);
        if (method === 'GET') expect(await response.json()).toMatchObject({ resource: publicUrl });
      });

    test('serves what is public', async () =>
      expect(await (await fixture().service.fetch('/health')).text()).toBe('ok'));

    for (const [what, target, overrides, host, headers, status] of usesNode ? nodeRows : [])
      test(`responds with ${status} to ${what}`, async () => {
        const given = headers(fixture().mint(overrides));
        const lines = [`GET ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...given];
        const send = async () => (await rawRequest(fixture().service.origin, lines)).status;
        expect(await send()).toBe(status);
        if (overrides === withKey) expect(await send(), 'with the same proof').toBe(401);
      });
  });
}
