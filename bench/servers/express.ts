import express from 'express';
import { auth } from 'express-oauth2-jwt-bearer';
import { audience, hostname, issuer, jwksUri, port, privateMessage, publicMessage } from './environment.ts';

const app = express();
const check = auth({ issuer, audience, jwksUri, tokenSigningAlg: 'RS256' });
app.get('/api/public', (_request, response) => void response.json(publicMessage));
app.get('/api/private', check, (_request, response) => void response.json(privateMessage));
app.listen(port, hostname);
