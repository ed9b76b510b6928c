// JavaScript, because Node.js, for which these packages are made, reads no TypeScript in its older versions.
import express from 'express';
import { auth } from 'express-oauth2-jwt-bearer';

const { AUDIENCE: audience, ISSUER: issuer, JWKS_URI: jwksUri, PORT, RESPONSES } = process.env;
const responses = JSON.parse(RESPONSES);
const app = express();
const check = auth({ issuer, audience, jwksUri, tokenSigningAlg: 'RS256' });
app.get('/api/public', (_request, response) => response.json(responses.public.body));
app.get('/api/private', check, (_request, response) => response.json(responses.private.body));
// Without a handler of its own, Express writes a stack trace for each rejected token: that would be measured instead.
app.use((error, _request, response, _next) =>
  response
    .status(error.status ?? 500)
    .set(error.headers)
    .json({ code: error.code }),
);
app.listen(Number(PORT), '127.0.0.1');
