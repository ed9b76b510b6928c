import { createServer } from 'node:http';

// What each API is told: whom to trust, what it is called, and the scope that its route requires.
export const { ISSUER: issuer, AUDIENCE: audience, JWKS_URI: jwksUri, PORT: port } = process.env;
export const scope = 'read:messages';

export const listen = (app) => createServer(app).listen(port, '127.0.0.1');
