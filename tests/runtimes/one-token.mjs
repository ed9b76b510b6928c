// Verifies one token and does nothing else: the process must then end, whatever is still scheduled.
import process from 'node:process';
import { Elysia } from 'elysia';
import { resourceServer } from 'protected-api/elysia';

const { ISSUER: issuer, AUDIENCE: audience, TOKEN } = process.env;
const app = new Elysia().use(resourceServer({ issuer, audience })).get('/me', ({ claims }) => ({ error: claims.sub }));
const response = await app.fetch(new Request('http://localhost/me', { headers: { authorization: `Bearer ${TOKEN}` } }));
console.log(response.status, (await response.json()).error);
