import { getGuard } from './guard';

// Next.js 16. Rejects requests before they reach a route, even one whose own check was forgotten. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com npx next dev
// With DPoP, check in the routes only: their request object is a different one, so the proof would count as used.
export async function proxy(request: Request): Promise<Response | undefined> {
  const guard = getGuard();
  // If PUBLIC_URL is set, serves the metadata that challenges link to.
  const result = guard.metadata(request) ?? (await guard.check(request, { scope: 'read:messages' }));
  return result instanceof Response ? result : undefined;
}

export const config = { matcher: ['/messages/:path*', '/.well-known/oauth-protected-resource'] };
