import type { Authentication, Claims } from '../types.ts';
import { parseUrl } from '../values/url.ts';

/** What the SDKs of MCP hand to tools: the `AuthInfo` of both. */
export interface McpAuthInfo<AcceptedClaims extends object = Claims> {
  /** The access token. Never put it into a result of a tool. */
  readonly token: string;
  /** The client, or `unknown`. Its users can share it: tell users apart by `extra.user`. */
  readonly clientId: string;
  /** All scopes that the token grants. */
  readonly scopes: string[];
  /** When the token expires, in seconds since 1970. */
  readonly expiresAt: number;
  /** The identifier of the server. */
  readonly resource?: URL;
  /**
   * The claims of the token, and the user: `iss`, `sub` and the client as one text. Bind to it what a server keeps
   * longer than a request: tasks, events to replay, `requestState`.
   */
  readonly extra: { claims: AcceptedClaims; user: string };
}

/**
 * Returns what the SDKs of MCP hand to tools as `authInfo`, for servers that `protectMcp` and `requireMcp` do not know.
 * Its `resource` is the first URL in the token's `aud`.
 * @example
 * const auth = await guard.check(request);
 * if (auth instanceof Response) return auth;
 * return handler.fetch(request, { authInfo: authInfoOf(auth) });
 */
export function authInfoOf<AcceptedClaims extends object = Claims>(
  auth: Authentication<AcceptedClaims>,
): McpAuthInfo<AcceptedClaims> {
  const { token, claims, scopes, clientId } = auth;
  const { exp: expiresAt, aud, iss, sub } = claims as unknown as Claims;
  const extra = { claims, user: JSON.stringify([iss, sub, clientId]) };
  const [resource] = [aud].flat().flatMap((each) => parseUrl(String(each)) ?? []);
  const named = resource && { resource };
  return { token, clientId: clientId ?? 'unknown', scopes: [...scopes], expiresAt, extra, ...named };
}
