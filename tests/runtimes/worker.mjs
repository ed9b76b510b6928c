// A Cloudflare Worker of somebody else. It is bundled with the installed package and runs in workerd, without nodejs_compat.
import { env } from 'cloudflare:workers';
import { createGuard } from 'protected-api/guard';
import { formatRejection } from './errors.mjs';

const { ISSUER: issuer, AUDIENCE: audience, PUBLIC_URL: publicUrl, DPOP: dpop, OPTIONS: options = '{}' } = env;
// Here, Workers allow neither a timer nor a random number nor a fetch.
const guard = createGuard({ issuer, audience, publicUrl, dpop, formatRejection, ...JSON.parse(options) });
const scoped = { scope: 'read:messages' };
const routes = { '/livez': undefined, '/api/public': undefined, '/api/private': {}, '/api/private-scoped': scoped };

/** What the tests expect of every response, and a guard cannot know. */
const ownHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
  'cache-control': 'no-store',
};

// biome-ignore lint/style/noDefaultExport: this is how a Worker is written.
export default {
  async fetch(request) {
    const path = URL.canParse(request.url) ? new URL(request.url).pathname : '';
    if (!(path in routes)) return new Response(null, { status: 404 });
    const result = routes[path] && (await guard.check(request, routes[path]));
    const message = result ? `Hello from ${result.claims?.iss}` : 'Hello';
    const response = result instanceof Response ? result : Response.json({ message });
    for (const [name, value] of Object.entries(ownHeaders)) response.headers.set(name, value);
    return response;
  },
};
