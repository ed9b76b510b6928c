import { createGuard, type Guard, optionsFromEnvironment } from 'protected-api/guard';

// A route handler of Next.js, in app/reports/route.ts. `next build` evaluates it without settings, so the guard is created on the
// first request. If there are two Authorization headers, Next.js passes on only the first.
let guard: Guard | undefined;

export async function GET(request: Request): Promise<Response> {
  guard ??= createGuard(optionsFromEnvironment(process.env));
  const result = await guard.check(request, { scope: 'read:reports' });
  if (result instanceof Response) return result;
  return Response.json({ hello: result.claims.sub });
}
