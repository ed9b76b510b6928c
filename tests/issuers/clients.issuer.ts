import { describe, expect, test } from 'bun:test';
import { createGuard, type GuardOptions } from 'protected-api';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { runToEnd } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { clients } from './clients/build.ts';
import { realServers } from './servers/real.ts';
import { startServer } from './servers/start.ts';

/*
 * Clients that nobody here wrote, in other languages: each gets a token of a real server, calls an API behind a guard,
 * obeys `Retry-After` and `DPoP-Nonce`, and reports the status and the challenges that it read.
 */

const isBrief = process.env.CI === 'true' && !isNight;

/** Servers that give the reader a token for the API unasked, and where their token endpoints are. */
const servers = [
  { name: 'oidc-provider', needs: [], endpoint: '/token', run: () => startAuthorizationServer([AUDIENCE]) },
  ...realServers
    .filter(({ name }) => /^(?:Authlib|Spring)/.test(name))
    .map((server) => ({
      ...server,
      endpoint: server.name.startsWith('Spring') ? '/oauth2/token' : '/token',
      run: () => startServer(server),
    })),
];

/** Serves an API with a guard for each path, whose keys cannot be fetched at first at `/outage`. */
function startApi(issuer: string) {
  const requests: { readonly status: number; readonly atMs: number; readonly retryAfter: string | null }[] = [];
  const server = serve(async (request) => {
    const result = await guards.get(new URL(request.url).pathname)?.check(request, { scope: SCOPE });
    const response = result instanceof Response ? result : Response.json({});
    const retryAfter = response.headers.get('retry-after');
    requests.push({ status: response.status, atMs: performance.now(), retryAfter });
    return response;
  });
  const isDown = () => !requests.some(({ status }) => status === 503);
  const outage = async (url: string, init: object) =>
    isDown() ? new Response(null, { status: 502 }) : fetch(url, init as RequestInit);
  const options: Readonly<Record<string, Partial<GuardOptions>>> = {
    '/messages': {},
    '/other': { audience: 'https://other.example.com' },
    '/outage': { fetch: outage },
    '/bound': { dpop: 'on', dpopNonceSecret: 'n'.repeat(32) },
  };
  const publicUrl = server.url.origin;
  const guards = new Map(
    Object.entries(options).map(([path, own]) => [
      path,
      createGuard({ issuer, audience: AUDIENCE, publicUrl, ...own }),
    ]),
  );
  const close = () => {
    for (const guard of guards.values()) guard.stop();
    return server.stop(true);
  };
  return { publicUrl, requests, close };
}

interface Told {
  readonly status: number;
  readonly challenges: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const anyText: string = expect.any(String);
const resource_metadata: string = expect.stringMatching(/\/\.well-known\/oauth-protected-resource$/);
const told = { scope: SCOPE, resource_metadata };
const algs: string = expect.stringMatching(/^ES256 /);
const rejected = (error: string) => ({ ...told, error, error_description: anyText });

const rows: readonly (readonly [
  what: string,
  how: 'none' | 'bearer' | 'dpop',
  path: string,
  scope: string,
  statuses: readonly number[],
  challenges: Told['challenges'],
])[] = [
  ['calls the API with a token', 'bearer', '/messages', SCOPE, [200], {}],
  ['reads the 403', 'bearer', '/messages', '', [403], { bearer: rejected('insufficient_scope') }],
  ['reads the 401', 'bearer', '/other', SCOPE, [401], { bearer: rejected('invalid_token') }],
  ['repeats the request after the 503', 'bearer', '/outage', SCOPE, [503, 200], {}],
  ['reads both challenges', 'none', '/bound', '', [401], { bearer: told, dpop: { ...told, algs } }],
  ['repeats the request with the nonce', 'dpop', '/bound', SCOPE, [401, 200], {}],
  ['reads the 403', 'dpop', '/bound', '', [401, 403], { dpop: { ...rejected('insufficient_scope'), algs } }],
];

for (const { name, needs, command } of clients) {
  for (const server of servers) {
    const missing = [needs, ...server.needs].filter((program) => !Bun.which(program));
    if (isBrief || missing.length > 0) {
      const why = isBrief ? 'it runs at night, or without CI=true' : `this machine has no ${missing.join(', ')}`;
      process.stdout.write(`NOT CHECKED: ${name} with ${server.name}: ${why}\n`);
      continue;
    }
    describe(`${name} with ${server.name}`, () => {
      const started = startedFor(
        async () => ({ program: await command(), server: await server.run() }),
        (all) => all.server.close(),
      );
      // Authlib's server binds no tokens.
      const own = rows.filter(([, how]) => how !== 'dpop' || !server.name.startsWith('Authlib'));
      test.each(own)('%s (%s, %s, %p)', async (_, how, path, scope, statuses, challenges) => {
        const { program, server: running } = started();
        const { publicUrl, requests, close } = startApi(running.issuer);
        const { stdout, stderr, status } = await runToEnd([
          ...program,
          ...[how, running.issuer + server.endpoint, publicUrl + path, scope],
        ]);
        close();
        expect(status, stderr).toBe(0);
        const { status: last, challenges: read }: Told = JSON.parse(stdout);
        expect(requests.map((each) => each.status)).toEqual([...statuses]);
        expect(last).toBe(statuses.at(-1) ?? 0);
        // RFC 9110 §11.1: the case of a scheme says nothing.
        expect(Object.fromEntries(Object.entries(read).map(([scheme, of]) => [scheme.toLowerCase(), of]))).toEqual(
          challenges,
        );
        const [first, second] = requests;
        if (first?.retryAfter && second)
          expect(second.atMs - first.atMs).toBeGreaterThanOrEqual(Number(first.retryAfter) * 1000);
      });
    });
  }
}
