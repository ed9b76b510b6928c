import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { createGuard } from '../../../src/auth/index.ts';
import type { startServedIssuer } from '../../../src/probe/issuer/served-issuer.ts';

// The server that is right, and what a fault is planted with.

export type Handler = (request: Request) => Response | Promise<Response>;
/** What a planted server may use of the right one. */
export interface Parts {
  /** Returns the claims of a token, or throws: signature, algorithm, issuer, audience and times are right. */
  readonly verify: (token: string) => Promise<JWTPayload>;
  /** Returns the protected response. */
  readonly respond: (claims: JWTPayload) => Response;
  /** Where the keys are. */
  readonly keysUrl: string;
  /** The issuer's key, as if the API had the same. */
  readonly privateJwk: Readonly<Record<string, unknown>>;
}
/** A server with a fault: `right` is the one without. */
export type Planted = (request: Request, right: Handler, parts: Parts) => Response | Promise<Response>;

export const [scope, audience] = ['read:messages', 'https://api.invalid'];
type Issuer = Awaited<ReturnType<typeof startServedIssuer>>;

/** Returns the right server for an issuer, with the parts for others. */
export function rightServer({ issuer: { options, key: privateJwk }, server }: Issuer, publicUrl: string) {
  const about = { issuer: options.issuer, audience: options.audience };
  const guard = createGuard({ ...about, publicUrl, dpop: 'on', onKeySetEvent() {} });
  const keys = createLocalJWKSet(options.keys as JSONWebKeySet);
  const parts: Parts = {
    privateJwk,
    keysUrl: `${server.url}.well-known/jwks.json`,
    verify: async (token) => (await jwtVerify(token, keys, { ...about, algorithms: ['RS256'] })).payload,
    respond: ({ sub }) => Response.json({ hello: sub }),
  };
  const right: Handler = async (request) => {
    const result = guard.metadata(request, { scopes: [scope] }) ?? (await guard.check(request, { scope }));
    return result instanceof Response ? result : parts.respond({ ...result.claims, aud: audience });
  };
  return { right, parts };
}
