import { createVerifier } from 'fast-jwt';
import fastify from 'fastify';
import { audience, hostname, issuer, port, privateMessage, publicKeyPem, publicMessage } from './environment.ts';

const verify = createVerifier({
  key: publicKeyPem(),
  algorithms: ['RS256'],
  allowedIss: issuer,
  allowedAud: audience,
  requiredClaims: ['exp'],
  cache: 10_000,
});

const app = fastify();
app.get('/api/public', () => publicMessage);
app.get('/api/private', (request, reply) => {
  const [scheme, token, ...rest] = (request.headers.authorization ?? '').split(' ');
  try {
    if (scheme?.toLowerCase() !== 'bearer' || !token || rest.length > 0) throw new Error('No bearer token');
    verify(token);
  } catch {
    return reply.code(401).send({ code: 'unauthorized' });
  }
  return privateMessage;
});
await app.listen({ port, host: hostname });
