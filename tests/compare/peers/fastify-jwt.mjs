import fastifyJwt from '@fastify/jwt';
import Fastify from 'fastify';
import buildGetJwks from 'get-jwks';
import { audience, issuer, port } from '../settings.mjs';

// The README of get-jwks: "@fastify/jwt", with the options of verify in that of @fastify/jwt.
const fastify = Fastify();
const getJwks = buildGetJwks({ issuersWhitelist: [issuer] });
fastify.register(fastifyJwt, {
  decode: { complete: true },
  secret: (_request, { header: { kid, alg }, payload: { iss } }) => getJwks.getPublicKey({ kid, domain: iss, alg }),
  verify: { allowedIss: issuer, allowedAud: audience },
});
fastify.addHook('onRequest', (request) => request.jwtVerify());
fastify.get('/reports', (request) => ({ sub: request.user.sub }));
await fastify.listen({ port });
