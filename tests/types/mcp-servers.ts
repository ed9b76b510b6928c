import type { AuthInfo as FirstAuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import type { AuthInfo } from '@modelcontextprotocol/server';
import { createGuard } from 'protected-api';
import { authInfoOf, protectMcp, requireMcp } from 'protected-api/mcp';
import { z } from 'zod';

// What protectMcp() hands to a handler, and that both SDKs take it.

const options = { issuer: 'https://tenant.example.com/', audience: 'https://api.example.com' };
const guard = createGuard({ ...options, claims: z.object({ tenant: z.string() }) });

protectMcp(guard, { tools: { add: { anyOf: ['a', 'b'] } } }, (_, { auth, authInfo, message }) => {
  const infos: [AuthInfo, FirstAuthInfo] = [authInfo, authInfo];
  const texts: readonly string[] = [auth.claims.tenant, authInfo.extra.claims.tenant, auth.token];
  // @ts-expect-error: a client chooses the message.
  const { method } = message;
  return Response.json([infos, texts, method]);
});

protectMcp(guard, { publicTools: ['look'] }, (_, { auth, authInfo }) => {
  // @ts-expect-error: without a token there are no claims.
  const tenant = auth.claims.tenant;
  // @ts-expect-error: nor is there what tools get.
  const info: AuthInfo = authInfo;
  return Response.json([tenant, info, auth.claims?.tenant, authInfo?.extra.claims.tenant]);
});

// @ts-expect-error: Did you mean publicTools?
protectMcp(guard, { publicTool: ['look'] }, () => new Response());
// @ts-expect-error: a scope is a string.
requireMcp(guard, { tools: { add: 5 } });
// @ts-expect-error: the handler is missing.
protectMcp(guard, {});

const result = await guard.check(new Request('https://api.example.com'));
if (!(result instanceof Response)) {
  const info: AuthInfo = authInfoOf(result);
  const { tenant }: { readonly tenant: string } = authInfoOf(result).extra.claims;
  console.log(info, tenant);
}
