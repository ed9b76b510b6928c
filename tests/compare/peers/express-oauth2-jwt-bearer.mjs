import express from 'express';
import { auth, requiredScopes } from 'express-oauth2-jwt-bearer';
import { audience, issuer, listen, scope } from '../settings.mjs';

// Its README: "Library Initialization".
const app = express();
app.use(auth({ issuerBaseURL: issuer, audience }));
app.get('/reports', requiredScopes(scope), (req, res) => res.json({ sub: req.auth.payload.sub }));
listen(app);
