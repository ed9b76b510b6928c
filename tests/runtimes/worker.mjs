// A Cloudflare Worker of somebody else. It is bundled with the installed package and runs in workerd, without nodejs_compat.
import { DurableObject, env, WorkerEntrypoint, waitUntil } from 'cloudflare:workers';
import { createGuard } from 'protected-api';
import { formatRejection } from './errors.mjs';

const { ISSUER: listed, AUDIENCE: audience, PUBLIC_URL: publicUrl, DPOP: dpop, OPTIONS: options = '{}' } = env;
// Here, Workers allow neither a timer nor a random number nor a fetch.
const { revocations, isLookedUp, outlives, ...given } = JSON.parse(options);
const lookUp = async (iss) =>
  (await fetch(listed)).ok && iss === listed ? { issuer: iss, jwksAllowPrivate: true } : undefined;
const issuer = isLookedUp ? lookUp : listed;
/** What an RPC call returns is a function with a `then`. */
const isRevoked = {
  SERVICE: ({ sid }) => env.SERVICE.isRevoked(sid),
  OBJECTS: ({ sid }) => env.OBJECTS.get(env.OBJECTS.idFromName('all')).isRevoked(sid),
}[revocations];
const guard = createGuard({
  issuer,
  audience,
  publicUrl,
  dpop,
  formatRejection,
  isRevoked,
  ...(outlives && { waitUntil }),
  ...given,
});
const scoped = { scope: 'read:messages' };
const routes = { '/livez': undefined, '/api/public': undefined, '/api/private': {}, '/api/private-scoped': scoped };

const isRevokedSession = (sid) => {
  if (sid === 'broken') throw new Error('secret');
  return sid === 'revoked';
};

export class Revocations extends WorkerEntrypoint {
  isRevoked(sid) {
    return isRevokedSession(sid);
  }
}

export class RevocationList extends DurableObject {
  isRevoked(sid) {
    return isRevokedSession(sid);
  }
}

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
