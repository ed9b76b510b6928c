import fastifyJwt, { type TokenOrHeader } from '@fastify/jwt';
import fastify from 'fastify';
import buildGetJwks from 'get-jwks';
import { audience, hostname, issuer, jwksUri, port, privateMessage, publicMessage } from './environment.ts';

const { origin, pathname } = new URL(jwksUri);
const getJwks = buildGetJwks({ jwksPath: pathname });

function findKey(_request: unknown, token: TokenOrHeader): Promise<string> {
  const { kid = '', alg } = 'header' in token ? token.header : token;
  return getJwks.getPublicKey({ domain: origin, kid, alg });
}

const app = fastify();
await app.register(fastifyJwt, {
  decode: { complete: true },
  secret: findKey,
  verify: { algorithms: ['RS256'], allowedIss: issuer, allowedAud: audience, requiredClaims: ['exp'], cache: 10_000 },
});
app.get('/api/public', () => publicMessage);
app.get('/api/private', { onRequest: (request) => request.jwtVerify() }, () => privateMessage);
await app.listen({ port, host: hostname });
