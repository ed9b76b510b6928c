import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import express from 'express';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { audience, issuer, jwksUri, listen, scope } from '../settings.mjs';

// requireBearerAuth takes a verifier, which is the application's: here, it is jose's README.
const keySet = createRemoteJWKSet(new URL(jwksUri));
async function verifyAccessToken(token) {
  const { payload } = await jwtVerify(token, keySet, { issuer, audience }).catch((error) => {
    throw new InvalidTokenError(error.code);
  });
  const { sub, client_id: clientId, scope: granted, exp: expiresAt } = payload;
  return { token, clientId, scopes: typeof granted === 'string' ? granted.split(' ') : [], expiresAt, extra: { sub } };
}
const app = express();
const requireToken = requireBearerAuth({ verifier: { verifyAccessToken }, requiredScopes: [scope] });
app.get('/reports', requireToken, (req, res) => res.json({ sub: req.auth.extra.sub }));
listen(app);
