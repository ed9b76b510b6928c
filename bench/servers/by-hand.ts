import { cors } from '@elysiajs/cors';
import { Elysia } from 'elysia';
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { audience, hostname, issuer, jwksUri, port, responses } from './environment.ts';

// What these packages give without the guard. It has none of the other checks, and its Map never forgets a token.
const keySet = createRemoteJWKSet(new URL(jwksUri));
const verified = process.env.HAS_MAP ? new Map<string, JWTPayload>() : undefined;
const { body, headers } = responses.rejection;
const rejectionHeaders = Object.fromEntries(headers);

async function verify(authorization = '') {
  const token = authorization.replace(/^Bearer /i, '');
  const known = verified?.get(token);
  if (known?.exp && known.exp > Date.now() / 1000) return known;
  const { payload } = await jwtVerify(token, keySet, { issuer, audience, algorithms: ['RS256'] });
  verified?.set(token, payload);
  return payload;
}

new Elysia()
  .use(cors({ origin: '*', credentials: false, allowedHeaders: ['Content-Type', 'Authorization'] }))
  .get('/api/public', () => responses.public.body)
  .derive(async (context) => ({ claims: await verify(context.headers.authorization).catch(() => undefined) }))
  .onBeforeHandle(({ claims, set, status }) => {
    if (claims) return;
    // All that the service sends and nothing else, because headers cost time.
    set.headers = { ...rejectionHeaders };
    return status(401, body);
  })
  .get('/api/private', () => responses.private.body)
  .listen({ port, hostname });
