// node doors.mjs FRAMEWORK LIBRARY: two routes, one of which the library protects as its documentation shows.
const { ISSUER: issuer, AUDIENCE: audience, JWKS_URI: jwksUri, PORT } = process.env;
const port = Number(PORT);
const hostname = '127.0.0.1';
const scope = 'read:messages';
const message = { message: 'Hello' };

const createOwn = async (door) => {
  const { createGuard } = await import('protected-api');
  const { requireToken } = await import(door);
  return requireToken(createGuard({ issuer, audience, jwksUri }), { scope });
};

const libraries = {
  express: {
    'protected-api': async () => [await createOwn('protected-api/node')],
    async 'express-oauth2-jwt-bearer'() {
      const { auth, requiredScopes } = await import('express-oauth2-jwt-bearer');
      return [auth({ issuer, jwksUri, audience }), requiredScopes(scope)];
    },
  },
  fastify: {
    'protected-api': () => createOwn('protected-api/fastify'),
    async '@fastify/jwt, get-jwks'(app) {
      const { default: fastifyJwt } = await import('@fastify/jwt');
      const { default: buildGetJwks } = await import('get-jwks');
      const getJwks = buildGetJwks();
      await app.register(fastifyJwt, {
        decode: { complete: true },
        secret: (_request, { header: { kid, alg } }) => getJwks.getPublicKey({ kid, alg, domain: jwksUri }),
        verify: { allowedIss: issuer, allowedAud: audience },
      });
      return (request) => request.jwtVerify();
    },
  },
  hono: {
    'protected-api': () => createOwn('protected-api/hono'),
    async 'hono/jwk'() {
      const { jwk } = await import('hono/jwk');
      // It fetches a key set from a URL for each request.
      const { keys } = await (await fetch(jwksUri)).json();
      return jwk({ keys, alg: ['RS256'], verification: { iss: issuer, aud: audience } });
    },
  },
};

const frameworks = {
  async express(protect) {
    const { default: express } = await import('express');
    const app = express();
    const respond = (_request, response) => response.json(message);
    app.get('/api/public', respond);
    app.get('/api/private', await protect(), respond);
    app.listen(port, hostname);
  },
  async fastify(protect) {
    const { default: fastify } = await import('fastify');
    const app = fastify();
    const onRequest = await protect(app);
    app.get('/api/public', () => message);
    app.get('/api/private', { onRequest }, () => message);
    await app.listen({ port, host: hostname });
  },
  async hono(protect) {
    const { Hono } = await import('hono');
    const app = new Hono();
    const respond = (context) => context.json(message);
    app.get('/api/public', respond);
    app.get('/api/private', await protect(), respond);
    if (globalThis.Bun) globalThis.Bun.serve({ hostname, port, fetch: app.fetch });
    else (await import('@hono/node-server')).serve({ fetch: app.fetch, hostname, port });
  },
};

const [framework, library] = process.argv.slice(2);
await frameworks[framework](libraries[framework][library]);
