import { createGuard } from 'protected-api/guard';

// A server of Deno. To start it:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com deno run --allow-env --allow-net examples/deno-serve.ts
const [issuer = '', audience = '', port = '3010'] = ['ISSUER', 'AUDIENCE', 'PORT'].map((name) => Deno.env.get(name));
const guard = createGuard({ issuer, audience });
guard.start();

async function answer(request: Request): Promise<Response> {
  if (new URL(request.url).pathname === '/health') return new Response('ok');
  const result = await guard.check(request, { scope: 'read:reports' });
  if (result instanceof Response) return result;
  return Response.json({ hello: result.claims.sub });
}

const { addr } = Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {} }, answer);
console.log(`Listening on http://127.0.0.1:${addr.port}`);
