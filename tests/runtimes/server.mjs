// An application of somebody else, with nothing of this project in it but the installed package. It is plain JavaScript,
// because Node 20 runs no TypeScript, and listens through node:http, which all runtimes have.
import { createServer } from 'node:http';
import process from 'node:process';
import { Elysia } from 'elysia';
import { resourceServer } from 'protected-api/elysia';
import { formatRejection } from './errors.mjs';

const { ISSUER: issuer, AUDIENCE: audience, PUBLIC_URL: publicUrl, DPOP: dpop, OPTIONS: options = '{}' } = process.env;
const reply = (message) =>
  new Response(JSON.stringify({ message }), { headers: { 'content-type': 'application/json' } });

const app = new Elysia()
  .use(
    new Elysia()
      .use(resourceServer({ issuer, audience, publicUrl, dpop, formatRejection, ...JSON.parse(options) }))
      .get('/api/private', ({ claims }) => reply(`Hello from ${claims.iss}`))
      .get('/api/private-scoped', () => reply('Hello to those with the scope'), { scope: 'read:messages' }),
  )
  .get('/api/public', () => reply('Hello'))
  .get('/livez', () => reply('live'));

/** What the tests expect of every response, and a guard cannot know. */
const ownHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
  'cache-control': 'no-store',
};

createServer(async (incoming, outgoing) => {
  // Not `incoming.headers`: Node keeps only the first of several Authorization headers there. Nor by way of a Headers object:
  // Deno drops an empty one of several when it copies them.
  const headers = [];
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) headers.push(incoming.rawHeaders.slice(at, at + 2));
  const response = await app.fetch(
    new Request(`http://localhost${incoming.url}`, { method: incoming.method, headers }),
  );
  const body = new Uint8Array(await response.arrayBuffer());
  const length = { 'content-length': String(body.length) };
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...ownHeaders, ...length });
  outgoing.end(body);
}).listen(Number(process.env.PORT), '127.0.0.1');
