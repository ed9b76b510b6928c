import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { createGuard, optionsFromEnvironment, RejectionError } from 'protected-api';
import { checkIncoming } from 'protected-api/node';

// Koa. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com node koa.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

const app = new Koa();
app.use(async (context, next) => {
  // A rejection keeps the headers that were set before.
  context.set('access-control-allow-origin', '*');
  context.set('access-control-expose-headers', 'WWW-Authenticate, Retry-After');
  const { method, originalUrl } = context;
  // If PUBLIC_URL is set, serves the metadata that challenges link to.
  const metadata = guard.metadata({ method, url: `http://localhost${originalUrl}`, headers: new Headers() });
  if (metadata) context.body = metadata;
  else if (context.path === '/health') context.body = 'ok';
  else return next();
});
app.use(async (context, next) => {
  try {
    await next();
  } catch (error) {
    if (!(error instanceof RejectionError)) throw error;
    context.status = error.status;
    context.set({ ...error.headers });
    context.body = error.body;
  }
});
app.use(async (context) => {
  // Without a response to send to, it throws the rejection.
  const { claims } = await checkIncoming(guard, context.req, undefined, { scope: 'read:messages' });
  if (context.path === '/messages') context.body = { hello: claims.sub };
});

const server = app.listen(Number(process.env.PORT ?? 3010), '127.0.0.1', () =>
  console.log(`Listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
