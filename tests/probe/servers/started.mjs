import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';

// An API that --start starts, with the settings for the issuer in its environment.

const { ISSUER: issuer, AUDIENCE: audience, JWKS_URI, PORT, IS_LAX } = process.env;
const keys = createRemoteJWKSet(new URL(JWKS_URI));
const options = { issuer, audience: IS_LAX ? undefined : audience, algorithms: ['RS256'], clockTolerance: 5 };
createServer(async (request, response) => {
  const [, token = ''] = /^Bearer +([\w.-]+)$/i.exec(request.headers.authorization ?? '') ?? [];
  try {
    const { payload } = await jwtVerify(token, keys, options);
    response.end(JSON.stringify({ hello: payload.sub }));
  } catch {
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
  }
}).listen(Number(PORT), '127.0.0.1');
