import { createGuard, optionsFromEnvironment } from 'protected-api';

// A Deno server, for the variables ISSUER and AUDIENCE. Start it with:
// deno run --allow-env=ISSUER,AUDIENCE,PORT --allow-net deno-serve.ts
const guard = createGuard(optionsFromEnvironment(process.env));
guard.start();

async function respond(request: Request): Promise<Response> {
  if (new URL(request.url).pathname === '/health') return new Response('ok');
  const result = await guard.check(request, { scope: 'read:messages' });
  if (result instanceof Response) return result;
  return Response.json({ hello: result.claims.sub });
}

const port = Number(process.env.PORT ?? 3010);
const { addr } = Deno.serve({ hostname: '127.0.0.1', port, onListen() {} }, respond);
console.log(`Listening on http://127.0.0.1:${addr.port}`);
