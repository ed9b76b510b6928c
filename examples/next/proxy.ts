import { getGuard } from './guard';

// Next.js 16. Rejects requests before they reach a route, also one whose own check was forgotten. Start it with:
// ISSUER=https://tenant.example.com/ AUDIENCE=https://api.example.com npx next dev
// With DPoP, check in the routes only: they get another request object, for which the proof of this one is a used proof.
export async function proxy(request: Request): Promise<Response | undefined> {
  const guard = getGuard();
  // If PUBLIC_URL is set, serves the metadata that challenges link to.
  const result = guard.metadata(request) ?? (await guard.check(request, { scope: 'read:reports' }));
  return result instanceof Response ? result : undefined;
}

export const config = { matcher: ['/reports/:path*', '/.well-known/oauth-protected-resource'] };
