import { createGuard, optionsFromEnvironment } from 'protected-api';

// A Bun server without a framework. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com bun run bun-serve.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const { url } = Bun.serve({
  hostname: '127.0.0.1',
  port: process.env.PORT ?? 3010,
  routes: {
    '/health': new Response('ok'),
    async '/messages'(request) {
      const result = await guard.check(request, { scope: 'read:messages' });
      if (result instanceof Response) return result;
      return Response.json({ hello: result.claims.sub });
    },
  },
});
console.log(`Listening on ${url.origin}`);
