import express, { type ErrorRequestHandler } from 'express';
import { auth } from 'express-oauth2-jwt-bearer';
import { audience, hostname, issuer, jwksUri, port, privateMessage, publicMessage } from './environment.ts';

const app = express();
const check = auth({ issuer, audience, jwksUri, tokenSigningAlg: 'RS256' });
app.get('/api/public', (_request, response) => void response.json(publicMessage));
app.get('/api/private', check, (_request, response) => void response.json(privateMessage));
// Without a handler of its own, Express writes a stack trace for each refused token: that would be measured instead.
const answerError: ErrorRequestHandler = (error, _request, response, _next) =>
  void response
    .status(error.status ?? 500)
    .set(error.headers)
    .json({ code: error.code });
app.use(answerError);
app.listen(port, hostname);
