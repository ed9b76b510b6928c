import type { AddressInfo } from 'node:net';
import cors from 'cors';
import express from 'express';
import { createGuard, optionsFromEnvironment } from 'protected-api';
import { authOf, requireToken, serveMetadata } from 'protected-api/node';

// Express 5 or 4. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node express.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const app = express();
// Before the guard, so that cross-origin pages can read why a request was rejected.
app.use(cors({ exposedHeaders: ['WWW-Authenticate', 'Retry-After'] }));
// If PUBLIC_URL is set, serves the metadata that challenges link to.
app.use(serveMetadata(guard));
app.get('/health', (_request, response) => {
  response.send('ok');
});
app.get('/messages', requireToken(guard, { scope: 'read:messages' }), (request, response) => {
  response.json({ hello: authOf(request).claims.sub });
});

const server = app.listen(Number(process.env.PORT ?? 3010), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
