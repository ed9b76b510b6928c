import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { createGuard } from 'protected-api';

// An API that an issuer tells of logouts (OpenID Connect Back-Channel Logout) and of revoked sessions (CAEP).
// Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com CLIENT_ID=my-api bun run logout-receiver.ts
// Set JWKS_URL too if `jwks_uri` in the issuer's metadata is another URL than here, as with Keycloak and Entra.
const { ISSUER: issuer = 'https://tenant.example.com/', AUDIENCE: audience = 'https://api.example.com' } = process.env;
/** Your client ID at the issuer, and the audience of the event stream. */
const { CLIENT_ID: clientId = 'my-api', JWKS_URL = `${issuer}.well-known/jwks.json` } = process.env;
const keys = createRemoteJWKSet(new URL(JWKS_URL));
const logout = 'http://schemas.openid.net/event/backchannel-logout';
const revoked = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';

// As long as an access token is valid. Several processes need a shared list, and one that a restart must not empty
// needs a stored one.
const lasting = { ttl: 24 * 3600_000, ttlAutopurge: true };
const sessions = new LRUCache<string, true>(lasting);
/** Until when the tokens of a user are revoked, in seconds since 1970. */
const users = new LRUCache<string, number>(lasting);
const received = new LRUCache<string, true>(lasting);

export const guard = createGuard({
  issuer,
  audience,
  isRevoked: ({ sid, sub, iat }) => sessions.has(String(sid)) || Number(iat ?? 0) <= (users.get(String(sub)) ?? -1),
});

function revoke(jti: unknown, sid: unknown, sub: unknown, until: unknown) {
  if (typeof sid === 'string') sessions.set(sid, true);
  else if (typeof sub === 'string' && Number.isFinite(until))
    users.set(sub, Math.max(Number(until), users.get(sub) ?? 0));
  else throw new TypeError('The event names no session, and no user and time');
  received.set(String(jti), true);
}

class Outage extends Error {}
/** Tells keys that cannot be fetched from a token that none of them signed. */
const keyOf: JWTVerifyGetKey = (header, token) =>
  keys(header, token).catch((error: unknown) => {
    throw error instanceof errors.JWKSNoMatchingKey ? error : new Outage();
  });
/** The issuer sends it again after a 503, and gives up after a 400. */
const statusOf = (error: unknown) => (error instanceof Outage ? 503 : 400);

/** Anyone can send a body, so at most 64 KiB are read. */
async function readText(request: Request): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > 64 * 1024) throw new TypeError('The body is too long');
  }
  return text;
}

/** Returns the claims and the event of a JWT that was not received before. */
async function verify(text: unknown, typ: string, type: string, required: readonly string[]) {
  const { payload } = await jwtVerify(String(text), keyOf, {
    issuer,
    audience: clientId,
    typ,
    algorithms: ['RS256', 'ES256'],
    requiredClaims: ['iat', 'jti', 'events', ...required],
  });
  const { events, jti, nonce } = payload as JWTPayload & { events: unknown };
  const event: unknown = Object(events)[type];
  // An ID token has a nonce, and a logout token never has one.
  if (typeof event !== 'object' || event === null || nonce !== undefined)
    throw new TypeError('The token does not report this event');
  return received.has(String(jti)) ? undefined : { payload, event };
}

async function receiveLogout(request: Request) {
  const headers = { 'cache-control': 'no-store' };
  try {
    const form = new URLSearchParams(await readText(request));
    const text = form.get('logout_token');
    const found = await verify(text, 'logout+jwt', logout, ['exp']);
    if (!found) throw new TypeError('The logout token was received before');
    const { jti, sid, sub, iat } = found.payload;
    revoke(jti, sid, sub, iat);
    return new Response(null, { status: 200, headers });
  } catch (error) {
    const body = { error: 'invalid_request' };
    return Response.json(body, { status: statusOf(error), headers });
  }
}

async function receiveEvent(request: Request) {
  try {
    const text = await readText(request);
    const found = await verify(text, 'secevent+jwt', revoked, ['sub_id']);
    // The issuer sends an event again until it gets this response.
    if (!found) return new Response(null, { status: 202 });
    const { jti, iat, sub_id } = found.payload;
    const subject = Object(sub_id);
    const { session, user = subject } = subject;
    const sub = user.iss === issuer ? user.sub : undefined;
    const { event_timestamp: at = iat } = Object(found.event);
    revoke(jti, session?.id, sub, at);
    return new Response(null, { status: 202 });
  } catch (error) {
    const body = { err: 'invalid_request', description: 'Not accepted' };
    return Response.json(body, { status: statusOf(error) });
  }
}

export async function fetch(request: Request): Promise<Response> {
  // Bun gives a request without a valid Host no valid URL.
  const path = URL.parse(request.url)?.pathname;
  const sent = `${request.method} ${path}`;
  if (sent === 'POST /backchannel-logout') return receiveLogout(request);
  if (sent === 'POST /security-events') return receiveEvent(request);
  const result = await guard.check(request);
  return result instanceof Response ? result : Response.json(result.claims);
}

if (import.meta.main) console.log(`Listening on ${Bun.serve({ port: process.env.PORT ?? 3010, fetch }).url.origin}`);
