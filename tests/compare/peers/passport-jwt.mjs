import express from 'express';
import jwksRsa from 'jwks-rsa';
import passport from 'passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { audience, issuer, jwksUri, listen } from '../settings.mjs';

// examples/passport-demo of jwks-rsa.
const keys = { cache: true, rateLimit: true, jwksRequestsPerMinute: 10, jwksUri };
const options = {
  secretOrKeyProvider: jwksRsa.passportJwtSecret(keys),
  jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
  ...{ audience, issuer, algorithms: ['RS256'] },
};
passport.use(new Strategy(options, (claims, done) => done(null, claims)));
const app = express();
app.use(passport.initialize());
app.get('/reports', passport.authenticate('jwt', { session: false }), (req, res) => res.json({ sub: req.user.sub }));
listen(app);
