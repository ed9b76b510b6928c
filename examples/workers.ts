import { env, waitUntil } from 'cloudflare:workers';
import { createGuard, optionsFromEnvironment } from 'protected-api';

// A Cloudflare Worker, with the variables ISSUER and AUDIENCE in wrangler.toml. Start it with:
// npx wrangler dev workers.ts
// Workers stop background work when a request ends, but not what they are told to wait for.
const guard = createGuard({ ...optionsFromEnvironment(env), waitUntil });

// biome-ignore lint/style/noDefaultExport: this is how a Worker is written.
export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === '/health') return new Response('ok');
    const result = await guard.check(request, { scope: 'read:messages' });
    if (result instanceof Response) return result;
    return Response.json({ hello: result.claims.sub });
  },
};
