import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose';
import type { Planted } from './server.ts';

// A verifier of proofs (RFC 9449 §4.3) of which each check can be left out.

const second = () => Math.floor(Date.now() / 1000);
const withoutQuery = (url: string) => url.replace(/[?#].*/s, '');

interface Proof {
  readonly request: Request;
  readonly token: string;
  readonly header: { readonly typ?: string; readonly alg?: string; readonly crit?: unknown; readonly jwk?: JWK };
  readonly claims: JWTPayload & { readonly htm?: string; readonly htu?: string; readonly ath?: string };
  readonly seen: Set<unknown>;
}

/** Each check, by what it is about. A proof that one of them does not find right is rejected. */
const checks = {
  type: ({ header }) => header.typ === 'dpop+jwt',
  crit: ({ header }) => header.crit === undefined,
  'private-key': ({ header }) => header.jwk?.d === undefined,
  method: ({ request, claims }) => claims.htm === request.method,
  url: ({ request, claims }) => claims.htu === withoutQuery(request.url),
  jti: ({ claims }) => typeof claims.jti === 'string',
  iat: ({ claims }) => typeof claims.iat === 'number',
  old: ({ claims }) => second() - Number(claims.iat ?? second()) < 300,
  future: ({ claims }) => Number(claims.iat ?? 0) - second() < 300,
  exp: ({ claims }) => claims.exp === undefined || claims.exp > second(),
  ath: ({ claims, token }) => claims.ath === createHash('sha256').update(token).digest('base64url'),
  replay: ({ claims, seen }) => !seen.has(claims.jti) && Boolean(seen.add(claims.jti)),
} as const satisfies Readonly<Record<string, (proof: Proof) => boolean>>;
type Check = keyof typeof checks | 'count' | 'signature' | 'algorithm' | 'binding' | 'bound';

/** Returns a server that makes all checks but these; `instead` is what it does in the place of one. */
export function proofsWithout(
  omitted: readonly Check[],
  instead: Partial<Record<Check, (proof: Proof) => boolean>> = {},
): Planted {
  const seen = new Set<unknown>();
  const makes = (check: Check) => !omitted.includes(check);
  return async (request, right, { verify, respond }) => {
    const [, scheme = '', token = ''] = /^(\w+) (.*)$/.exec(request.headers.get('authorization') ?? '') ?? [];
    if (scheme !== 'DPoP') return right(request);
    const rejection = new Response(null, {
      status: 401,
      headers: { 'www-authenticate': 'DPoP error="invalid_dpop_proof", algs="ES256"' },
    });
    try {
      const accepted = await verify(token);
      const [text = '', more] = (request.headers.get('dpop') ?? '').split(', ');
      if (more !== undefined && makes('count')) return rejection;
      const header = decodeProtectedHeader(text) as Proof['header'];
      if (makes('algorithm') && header.alg !== 'ES256') return rejection;
      const claims =
        makes('signature') && makes('algorithm') && makes('crit')
          ? (await jwtVerify(text, EmbeddedJWK, { currentDate: new Date(0) })).payload
          : (JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload);
      const proof = { request, token, header, claims, seen };
      const { jkt } = (accepted.cnf ?? {}) as { readonly jkt?: string };
      if (makes('bound') && jkt === undefined) return rejection;
      if (makes('binding') && jkt !== undefined && (!header.jwk || jkt !== (await calculateJwkThumbprint(header.jwk))))
        return rejection;
      const failed = Object.entries({ ...checks, ...instead }).find(
        ([name, check]) => makes(name as Check) && !check(proof),
      );
      return failed ? rejection : respond(accepted);
    } catch {
      return rejection;
    }
  };
}
