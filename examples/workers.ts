import { env } from 'cloudflare:workers';
import { createGuard, optionsFromEnvironment } from 'protected-api/guard';

// A Cloudflare Worker. ISSUER and AUDIENCE are variables in its wrangler.toml. To start it: npx wrangler dev workers.ts
// Requests share the keys, because the guard is created once. Keys are fetched when a request needs them.
const guard = createGuard(optionsFromEnvironment(env));

// biome-ignore lint/style/noDefaultExport: this is how a Worker is written.
export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === '/health') return new Response('ok');
    const result = await guard.check(request, { scope: 'read:reports' });
    if (result instanceof Response) return result;
    return Response.json({ hello: result.claims.sub });
  },
};
