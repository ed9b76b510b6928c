import { oauthProviderResourceClient } from '@better-auth/oauth-provider/resource-client';
import { serve } from '@hono/node-server';
import { isAPIError } from 'better-auth/api';
import { createAuthClient } from 'better-auth/client';
import { audience, issuer, jwksUri, port, scope } from '../settings.mjs';

// better-auth.com: "Protect your API", with the client for resource servers.
const client = createAuthClient({ plugins: [oauthProviderResourceClient()] });
async function fetch(request) {
  try {
    const verifyOptions = { issuer, audience, typ: 'at+jwt' };
    const options = { jwksUrl: jwksUri, verifyOptions, requiredScopes: [scope] };
    const { sub } = await client.verifyAccessTokenRequest(request, options);
    return Response.json({ sub });
  } catch (error) {
    if (!isAPIError(error)) throw error;
    return Response.json(error.body, { status: error.statusCode, headers: error.headers });
  }
}
serve({ fetch, hostname: '127.0.0.1', port });
