import { createGuard, optionsFromEnvironment } from 'protected-api/guard';

// A Deno server. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com deno run --allow-env --allow-net deno-serve.ts
const guard = createGuard(optionsFromEnvironment(Deno.env.toObject()));
guard.start();

async function respond(request: Request): Promise<Response> {
  if (new URL(request.url).pathname === '/health') return new Response('ok');
  const result = await guard.check(request, { scope: 'read:reports' });
  if (result instanceof Response) return result;
  return Response.json({ hello: result.claims.sub });
}

const port = Number(Deno.env.get('PORT') ?? 3010);
const { addr } = Deno.serve({ hostname: '127.0.0.1', port, onListen() {} }, respond);
console.log(`Listening on http://127.0.0.1:${addr.port}`);
