import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { jwk } from 'hono/jwk';
import { audience, hostname, issuer, jwksUri, port, responses } from './environment.ts';

const app = new Hono();
app.get('/api/public', (context) => context.json(responses.public.body));
app.use('/api/private', jwk({ jwks_uri: jwksUri, alg: ['RS256'], verification: { iss: issuer, aud: audience } }));
app.get('/api/private', (context) => context.json(responses.private.body));
// Without a handler of its own, Hono writes a stack trace for each failed fetch: that would be measured instead.
app.onError((error) => (error instanceof HTTPException ? error.getResponse() : new Response(null, { status: 500 })));

Bun.serve({ hostname, port, development: false, fetch: app.fetch });
