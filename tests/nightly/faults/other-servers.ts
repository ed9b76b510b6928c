import * as faults from '../../probe/servers/faults.ts';
import { audience } from '../../probe/servers/server.ts';
import {
  also,
  type Based,
  byOwn,
  claimsOf,
  isHs256,
  now,
  read,
  right,
  rules,
  verifiedByCertificate,
} from './blind-servers.ts';

// Faults that the blind list does not have, most of them narrower: one value of a header, one form of a path.

const { at, header, tokenOf, credentials, opensIf, opensAt, rejecting, rejection, bearer } = faults;
const opensWith = (name: string, value: string) => right(opensIf((request) => header(request, name) === value));
const opensBehind = (path: string) => right(opensIf((request) => header(request, 'x-url')?.startsWith(path)));
const opensWithin = (path: string) => right(opensIf(({ url }) => url.includes(path)));
/** Trusts unsigned tokens of one kind. */
const unsigned = (typ: string | undefined) =>
  right((request, next, { respond }) => {
    const { head, claims } = read(tokenOf(request), audience);
    const isTrusted = head.alg === 'none' && head.typ === typ && Number(claims.exp) > now();
    return isTrusted ? respond(claims) : next(request);
  });

export const otherServers: Readonly<Record<string, Based>> = {
  'X-Internal: 1': opensWith('x-internal', '1'),
  'X-Internal: true': opensWith('x-internal', 'true'),
  'X-Debug: 1': opensWith('x-debug', '1'),
  'a user from a gateway': right(opensIf((request) => header(request, 'x-forwarded-user'))),
  'an overridden method': opensWith('x-http-method-override', 'OPTIONS'),
  'a list of paths by X-Forwarded-Uri': opensWith('x-forwarded-uri', '/health'),
  'a path behind /./': opensBehind('/./'),
  'a path behind /x/../': opensBehind('/x/../'),
  'a path behind two slashes': opensBehind('//'),
  'an encoded separator within': opensWithin('messages%2fsecret'),
  'a backslash within': opensWithin('messages%5csecret'),
  'a parameter of a segment': opensWithin('messages;x=1/secret'),
  'two slashes within': opensWithin('messages//secret'),
  'an ending of a file': right(opensAt('/messages/secret.json')),
  'a forgotten route that names its user': right((request, next) =>
    at(request).pathname === '/messages/secret/' ? Response.json({ hello: 'anonymous' }) : next(request),
  ),
  'pages for browsers': right(opensIf((request) => header(request, 'accept')?.includes('text/html'))),
  'an upgrade': right(opensIf((request) => header(request, 'upgrade'))),
  'a range': right((request, next) => (header(request, 'range') ? new Response('{', { status: 206 }) : next(request))),
  'alg none for HEAD': right(also(({ head }, _text, _url, { method }) => head.alg === 'none' && method === 'HEAD')),
  'alg none with typ JWT': unsigned('JWT'),
  'alg none without typ': unsigned(undefined),
  'HMAC by a word of an example': right(also((token) => token.head.alg === 'HS256' && isHs256(token, 'secret'))),
  'x5c without kid': right(also(({ head }, text) => head.kid === undefined && verifiedByCertificate(head, text))),
  'two tokens, the first verified and the second used': right(async (request, next, { verify, respond }) => {
    const [, first = '', second] = /^Bearer ([^,]+),(\S+)$/.exec(credentials(request) ?? '') ?? [];
    return second ? verify(first).then(() => respond(claimsOf(second))) : next(request);
  }),
  'aud within a text': byOwn({ aud: ({ claims }) => String(claims.aud).includes(audience) }),
  'azp in the place of aud': byOwn({ aud: (token) => rules.aud(token) || token.claims.azp === audience }),
  'exp as text': byOwn({ exp: (token) => typeof token.claims.exp === 'string' || rules.exp(token) }),
  'an hour of clock skew': byOwn({ exp: ({ claims: { exp } }) => typeof exp === 'number' && exp > now() - 3700 }),
  'no scope at all': byOwn({ scope: (token) => token.claims.scope === undefined || rules.scope(token) }),
  'a cache by the URL': right(faults.cachedBy(({ url }) => url)),
  'a cache by the claims': right(faults.cachedBy((request) => tokenOf(request).split('.').slice(0, 2).join('.'))),
  'a lock for whoever is named': right(faults.lockingOut()),
  'a rejection with the resource': right(
    rejecting((rejected, request) =>
      tokenOf(request)
        ? rejection(rejected.status, bearer(), 'Denied. {"hello":"probe-control"} was withheld')
        : rejected,
    ),
  ),
  'a server error for garbage': right(faults.failsIf((request) => tokenOf(request).startsWith('bnVsbA'))),
  'a challenge that cannot be parsed': right(faults.challenging('Bearer error="invalid_token')),
};
