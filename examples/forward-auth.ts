import { createGuard, optionsFromEnvironment } from 'protected-api';

// Checks requests for a proxy: auth_request of nginx, forwardAuth of Traefik, forward_auth of Caddy.
// docs/guides/forward-auth.md has their configurations. The proxy must
// - set X-Forwarded-Method and X-Forwarded-Uri to the method and the target as the client sent them; the query may be
//   left out,
// - pass on all other headers of the client, so that the headers named by `reserved` can be rejected here,
// - set X-Auth-Issuer, -Subject, -Client and -Scopes, from the response, in what it passes on to the API.
// Only the proxy may reach this port. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com bun run forward-auth.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

/** The scope for each method and first segment of a path. Nothing else is passed on. */
const scopes = new Map([
  ['GET /messages', 'read:messages'],
  ['POST /messages', 'write:messages'],
]);

/** Paths that all servers read alike: no escapes, no empty segments, no `.`, `..`, `;` or backslash. */
const plainPath = /^(?:\/(?!\.\.?(?:\/|$))[\w.~!$&'()*+,=:@-]+)+\/?$/;

/** What no client may send, in any spelling: the headers that the API trusts, and those that change method or path. */
const reserved =
  /^x-(?:auth-(?:issuer|subject|client|scopes)|http-method|(?:http-)?method-override|original-url|rewrite-url)$/;
const isReserved = (name: string) => reserved.test(name.replaceAll(/[^a-z\d]/g, '-'));

/** Any text as a header: what is not visible ASCII is percent-encoded. Without a text, the header is empty. */
const encoded = (value: unknown) =>
  typeof value === 'string' && value.isWellFormed() ? value.replaceAll(/[^!-$&-~]+/g, encodeURIComponent) : '';

async function check({ headers }: Request): Promise<Response> {
  const method = headers.get('x-forwarded-method') ?? '';
  const [path = ''] = (headers.get('x-forwarded-uri') ?? '').split('?', 1);
  const scope = scopes.get(`${method === 'HEAD' ? 'GET' : method} /${path.split('/', 2)[1]}`);
  if (scope === undefined || !plainPath.test(path) || [...headers.keys()].some(isReserved))
    return reject(Response.json({ error: 'access_denied' }, { status: 403, headers: { 'cache-control': 'no-store' } }));

  // A proof of the client (DPoP) is for PUBLIC_URL and this path.
  const result = await guard.check({ method, url: `http://localhost${path}`, headers }, { scope });
  if (result instanceof Response) return reject(result);
  const { claims, clientId } = result;
  return new Response(null, {
    status: 204,
    headers: {
      'cache-control': 'no-store',
      'x-auth-issuer': encoded(claims.iss),
      'x-auth-subject': encoded(claims.sub),
      'x-auth-client': encoded(clientId),
      // A scope from a list may contain spaces.
      'x-auth-scopes': result.scopes.map(encoded).join(' '),
    },
  });
}

/** nginx reads no bodies of these responses, so it gets them in a header. */
async function reject(response: Response): Promise<Response> {
  response.headers.set('x-auth-body', await response.clone().text());
  return response;
}

const { url } = Bun.serve({
  hostname: process.env.HOST ?? '127.0.0.1',
  port: process.env.PORT ?? 3010,
  development: false,
  routes: {
    '/auth': check,
    // If PUBLIC_URL is set: the metadata that challenges link to.
    '/.well-known/*': (request) =>
      guard.metadata(request, { scopes: [...scopes.values()] }) ?? new Response(null, { status: 404 }),
  },
  fetch: () => new Response(null, { status: 404 }),
});
console.log(`Listening on ${url.origin}`);
