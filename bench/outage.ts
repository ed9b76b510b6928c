import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createGuard } from 'protected-api';
import { createTestIssuer } from 'protected-api/testing';

// What users get while the issuer is down: from twenty lines with jose, and from the guard. Start it with:
// bun run bench/outage.ts

const jwks = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(test.options.keys) });
const issuer = jwks.url.href;
const test = await createTestIssuer({ issuer, audience: 'https://api.example.com' });
const { audience } = test.options;
// Keys age after a second here, so that nobody has to wait. The defaults of both are ten minutes.
const keySet = createRemoteJWKSet(new URL(jwks.url), { cacheMaxAge: 1000, cooldownDuration: 1000 });
const guard = createGuard({ issuer, audience, jwksUri: issuer, jwksMaxAgeSeconds: 1, jwksCooldownSeconds: 1 });

const servers: Readonly<Record<string, (request: Request) => Promise<Response>>> = {
  async 'twenty lines with jose'(request) {
    try {
      const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
      const { payload } = await jwtVerify(token, keySet, { issuer, audience });
      return Response.json(payload.sub);
    } catch {
      return new Response(null, { status: 401 });
    }
  },
  async 'protected-api'(request) {
    const result = await guard.check(request);
    return result instanceof Response ? result : Response.json(result.claims.sub);
  },
};

/** Sends a request of each of a hundred users, and prints how many got which status. */
async function callAll(when: string): Promise<void> {
  for (const [name, respond] of Object.entries(servers)) {
    const counts: Record<number, number> = {};
    for (let user = 0; user < 100; user += 1) {
      const authorization = `Bearer ${await test.token({ sub: `user-${user}` })}`;
      const { status } = await respond(new Request('https://api.example.com/', { headers: { authorization } }));
      counts[status] = (counts[status] ?? 0) + 1;
    }
    const said = Object.entries(counts).map(([status, count]) => `${count} × ${status}`);
    console.log(`${when.padEnd(26)} ${name.padEnd(23)} ${said.join(', ')}`);
  }
}

await callAll('The issuer is up');
await jwks.stop(true);
await Bun.sleep(1100);
await callAll('It is down, keys have aged');
