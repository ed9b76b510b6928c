import express from 'express';
import { createGuard } from 'protected-api/guard';
import { authOf, requireToken } from 'protected-api/node';
import { audience, issuer, listen, scope } from '../settings.mjs';

// docs/start/express.md
const guard = createGuard({ issuer, audience });
const app = express();
app.get('/reports', requireToken(guard, { scope }), (req, res) => res.json({ sub: authOf(req).claims.sub }));
listen(app);
