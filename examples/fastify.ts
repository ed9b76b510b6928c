import cors from '@fastify/cors';
import Fastify from 'fastify';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { authOf, requireToken } from 'protected-api/fastify';

// Fastify 5. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node fastify.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const app = Fastify();
await app.register(cors, { exposedHeaders: ['WWW-Authenticate', 'Retry-After'] });
// If PUBLIC_URL is set, serves the metadata that challenges link to.
app.addHook('onRequest', async ({ method, originalUrl }, reply) => {
  const url = `http://localhost${originalUrl}`;
  const metadata = guard.metadata({ method, url, headers: new Headers() });
  return metadata && reply.send(metadata);
});
app.get('/health', async () => 'ok');
app.get('/messages', { onRequest: requireToken(guard, { scope: 'read:messages' }) }, async (request) => ({
  hello: authOf(request).claims.sub,
}));

console.log(`Listening on ${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3010) })}`);
