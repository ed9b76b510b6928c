import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import * as oauth from 'oauth4webapi';
import { createGuard } from 'protected-api';

// An API that asks its issuer about each JWT (RFC 7662), and keeps `active: true` for ten seconds. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com CLIENT_ID=my-api CLIENT_SECRET=SECRET bun run introspected-jwt.ts
// Set INTROSPECTION_ENDPOINT too if it is another URL in the issuer's metadata than here.
const { ISSUER: issuer = 'https://tenant.example.com/', AUDIENCE: audience = 'https://api.example.com' } = process.env;
const { CLIENT_ID: client_id = 'my-api', CLIENT_SECRET = '' } = process.env;
const { INTROSPECTION_ENDPOINT: introspection_endpoint = `${issuer}token/introspection` } = process.env;
const server = { issuer, introspection_endpoint };
const client = { client_id };
const secret = oauth.ClientSecretBasic(CLIENT_SECRET);

const active = new LRUCache<string, true>({ max: 10_000, ttl: 10_000 });
const pending = new Map<string, Promise<boolean>>();

async function ask(token: string, hash: string) {
  // Not the signal of one request, because others wait for the response too.
  const options = { signal: AbortSignal.timeout(3000) };
  const response = await oauth.introspectionRequest(server, client, secret, token, options);
  const result = await oauth.processIntrospectionResponse(server, client, response);
  // Only what is active is kept.
  if (result.active) active.set(hash, true);
  return result.active;
}

function isActive(token: string) {
  const hash = createHash('sha256').update(token).digest('base64');
  if (active.has(hash)) return true;
  const asked = pending.get(hash) ?? ask(token, hash).finally(() => pending.delete(hash));
  pending.set(hash, asked);
  return asked;
}

export const guard = createGuard({
  issuer,
  audience,
  isRevoked: async (_claims, { token }) => !(await isActive(token)),
});

export async function fetch(request: Request): Promise<Response> {
  const result = await guard.check(request);
  return result instanceof Response ? result : Response.json(result.claims);
}

if (import.meta.main) console.log(`Listening on ${Bun.serve({ port: process.env.PORT ?? 3010, fetch }).url.origin}`);
