import { connection } from 'next/server';
import { getGuard } from '../../guard';

// Each route checks the token too, because the proxy may not match its path. If there are two Authorization headers,
// Next.js passes on only the first.
export async function GET(request: Request): Promise<Response> {
  // With cacheComponents, `next build` runs what comes before this line, without settings.
  await connection();
  const result = await getGuard().check(request, { scope: 'read:messages' });
  if (result instanceof Response) return result;
  return Response.json({ hello: result.claims.sub });
}
