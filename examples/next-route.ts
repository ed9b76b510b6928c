import { createGuard } from 'protected-api/guard';

// A route handler of Next.js, in app/reports/route.ts. Keys are fetched with the first request.
const { ISSUER = '', AUDIENCE = '' } = process.env;
const guard = createGuard({ issuer: ISSUER, audience: AUDIENCE });

export async function GET(request: Request): Promise<Response> {
  const result = await guard.check(request, { scope: 'read:reports' });
  if (result instanceof Response) return result;
  return Response.json({ hello: result.claims.sub });
}
