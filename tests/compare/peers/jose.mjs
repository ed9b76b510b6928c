import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { audience, issuer, jwksUri, port } from '../settings.mjs';

// Its documentation of createRemoteJWKSet. Everything about HTTP is the application's.
const keySet = createRemoteJWKSet(new URL(jwksUri));
createServer(async ({ headers: { authorization = '' } }, response) => {
  const [, token = ''] = /^Bearer (.+)$/i.exec(authorization) ?? [];
  const verified = await jwtVerify(token, keySet, { issuer, audience }).catch(() => undefined);
  if (!verified) return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
  response.end(JSON.stringify({ sub: verified.payload.sub }));
}).listen(port, '127.0.0.1');
