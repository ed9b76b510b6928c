import type { AddressInfo } from 'node:net';
import cors from 'cors';
import express from 'express';
import { createGuard, optionsFromEnvironment } from 'protected-api/guard';
import { authOf, requireToken } from 'protected-api/node';

// Express 5 or 4. To start it in Node.js 22.18 or later:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node express.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const app = express();
// Before the guard, so that pages of other origins can read why a request was rejected.
app.use(cors({ exposedHeaders: ['WWW-Authenticate', 'Retry-After'] }));
// With PUBLIC_URL, the metadata that the challenges name (RFC 9728).
app.use(async ({ method, originalUrl }, response, next) => {
  const metadata = guard.metadata({ method, url: `http://localhost${originalUrl}`, headers: new Headers() });
  if (metadata === undefined) return next();
  response.writeHead(metadata.status, Object.fromEntries(metadata.headers)).end(await metadata.text());
});
app.get('/health', (_request, response) => {
  response.send('ok');
});
app.get('/reports', requireToken(guard, { scope: 'read:reports' }), (request, response) => {
  response.json({ hello: authOf(request).claims.sub });
});

const server = app.listen(Number(process.env.PORT ?? 3010), '127.0.0.1', () =>
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
