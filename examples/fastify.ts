import cors from '@fastify/cors';
import Fastify from 'fastify';
import { createGuard, optionsFromEnvironment } from 'protected-api/guard';
import { checkIncoming } from 'protected-api/node';

// Fastify. To start it in Node.js 22.18 or later:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node fastify.ts
const guard = createGuard({
  ...optionsFromEnvironment(process.env),
  // Fastify adds the headers of @fastify/cors to its own responses only.
  errorHeaders: {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
  },
});
guard.start();

const app = Fastify();
await app.register(cors);
// With PUBLIC_URL, the metadata that the challenges name (RFC 9728).
app.addHook('onRequest', async ({ method, originalUrl }, reply) => {
  const url = `http://localhost${originalUrl}`;
  const metadata = guard.metadata({ method, url, headers: new Headers() });
  return metadata && reply.send(metadata);
});
app.get('/health', async () => 'ok');
app.get('/reports', async (request, reply) => {
  const auth = await checkIncoming(guard, request.raw, reply.raw, { scope: 'read:reports' });
  // Without auth, the rejection was sent.
  return auth && { hello: auth.claims.sub };
});

console.log(`Listening on ${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3010) })}`);
