import { node } from '@elysia/node';
import { Elysia } from 'elysia';
import { optionsFromEnvironment } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';

// Elysia on Node.js. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node elysia-node.ts
const messages = new Elysia()
  .use(resourceServer(optionsFromEnvironment(process.env)))
  .get('/messages', ({ claims }) => ({ hello: claims.sub }), { scope: 'read:messages' });

new Elysia({ adapter: node() })
  .get('/health', () => 'ok')
  .use(messages)
  .listen({ hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3010) }, async (server) => {
    // The adapter calls back before it listens.
    await Object(server).raw.ready();
    console.log(`Listening on ${server.url.origin}`);
  });
