import { Hono } from 'hono';
import { jwk } from 'hono/jwk';
import { audience, hostname, issuer, jwksUri, localJwks, port, privateMessage, publicMessage } from './environment.ts';

const isLocal = process.argv[2] === 'local';
const keys = isLocal ? { keys: JSON.parse(localJwks()).keys } : { jwks_uri: jwksUri };

const app = new Hono();
app.get('/api/public', (context) => context.json(publicMessage));
app.use('/api/private', jwk({ ...keys, alg: ['RS256'], verification: { iss: issuer, aud: audience } }));
app.get('/api/private', (context) => context.json(privateMessage));

Bun.serve({ hostname, port, development: false, fetch: app.fetch });
