import express from 'express';
import { expressjwt } from 'express-jwt';
import jwksRsa from 'jwks-rsa';
import { audience, issuer, jwksUri, listen } from '../settings.mjs';

// examples/express-demo of jwks-rsa, and the error handler of express-jwt's README.
const app = express();
const keys = { cache: true, rateLimit: true, jwksRequestsPerMinute: 10, jwksUri };
app.use(expressjwt({ secret: jwksRsa.expressJwtSecret(keys), audience, issuer, algorithms: ['RS256'] }));
app.get('/reports', (req, res) => res.json({ sub: req.auth.sub }));
app.use((error, _req, res, next) => {
  if (error.name === 'UnauthorizedError') res.status(401).send('invalid token...');
  else next(error);
});
listen(app);
