import { node } from '@elysia/node';
import { Elysia } from 'elysia';
import { optionsFromEnvironment, resourceServer } from 'protected-api';

// Elysia on Node.js. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node elysia-node.ts
const reports = new Elysia()
  .use(resourceServer(optionsFromEnvironment(process.env)))
  .get('/reports', ({ claims }) => ({ hello: claims.sub }), { scope: 'read:reports' });

new Elysia({ adapter: node() })
  .get('/health', () => 'ok')
  .use(reports)
  .listen({ hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3010) }, async (server) => {
    // The adapter calls back before it listens.
    await Object(server).raw.ready();
    console.log(`Listening on ${server.url.origin}`);
  });
