import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { jwk } from 'hono/jwk';
import { audience, issuer, jwksUri, port } from '../settings.mjs';

// hono.dev: "JWK Auth Middleware", with verification options.
const app = new Hono();
app.use(
  '/reports',
  jwk({ jwks_uri: jwksUri, alg: ['RS256'], verification: { iss: issuer, aud: audience, typ: 'at+jwt' } }),
);
app.get('/reports', (c) => c.json({ sub: c.get('jwtPayload').sub }));
serve({ fetch: app.fetch, hostname: '127.0.0.1', port });
