import { titleOf } from './pages.ts';

/** What people type for a page that says it in other words. */
const otherWords: Readonly<Record<string, string>> = {
  deploy: 'performance throughput benchmark scaling production proxy load balancer',
  'guides/browsers': 'CORS preflight SPA React fetch credentials',
  'guides/certificates': 'mTLS mutual TLS client certificate financial grade',
  'guides/dpop': 'sender-constrained proof of possession replay nonce',
  'guides/errors': 'problem details custom error format 401 403 RFC 9457',
  'guides/observability': 'logging log OpenTelemetry tracing audit metrics Prometheus readiness',
  'guides/opaque-tokens': 'introspection reference token API key',
  'guides/openapi': 'swagger security scheme typed client',
  'guides/optional-tokens': 'public endpoint anonymous guest skip authentication unauthenticated',
  'guides/owners': 'object-level authorization BOLA IDOR ownership agent',
  'guides/probe': 'scanner conformance penetration test security audit',
  'guides/revocation': 'logout block a user ban blacklist denylist revoke a token block a user revoke a token',
  'guides/scopes': 'roles role RBAC permissions authorization admin hasRole require a role step-up',
  'guides/several-issuers': 'multi-tenant tenants multiple issuers SaaS',
  'guides/testing': 'mock fake token unit test vitest jest supertest',
  'guides/token-exchange': 'microservices call another API on behalf of service to service downstream',
  'guides/users': 'read the user from the request req.user current user ID profile typed claims',
  'guides/websockets': 'socket subscription realtime ws',
  'issuers/entra': 'Azure AD Microsoft 365 MSAL B2C',
  'issuers/index': 'identity provider IdP authorization server issuer audience',
  'issuers/others': 'machine workload CI GitHub',
  'migration/index':
    'migrate from express-jwt passport-jwt express-oauth2-jwt-bearer jsonwebtoken jose Spring hasRole jwt.verify',
  'mcp/connect': 'connector claude chatgpt does not connect',
  'mcp/index': 'Model Context Protocol',
  operations: 'alert outage incident rotation key rotated stolen',
  'quick-reference': 'cheat sheet',
  security: 'ID token access token refresh token which one audit',
  'start/express': 'middleware verify JWT jsonwebtoken req.auth Koa Connect',
  'start/install': 'CommonJS require ESM cannot find module TypeScript Node.js version',
  'start/nextjs': 'nextjs Vercel app router',
  troubleshooting:
    '401 without reason without error Unauthorized invalid token jwt malformed invalid issuer audience signature expired 403 although the token has the scope',
};

/**
 * Returns what the search finds of a page. The first section of a page counts as saying its title many times, most of all in the pages
 * about a server, so that the name of a framework leads to its page, and the statuses of Troubleshooting likewise. Code is searched in
 * pages about a server only, because frameworks are named in it everywhere, and no table of tokens, because each names everything.
 * The weights are in the index, because the policy of the page Explain allows no function that comes with it.
 */
export function searchedHtml(html: string, path: string): string {
  const page = path.replace(/\.md$/, '');
  if (/^(?:reference\/|comparison)/.test(page)) return (html.match(/<h\d.*?<\/h\d>/gs) ?? []).join('\n');
  const text = page.startsWith('start/') ? html : html.replaceAll(/<pre.*?<\/pre>/gs, '');
  const prose = page.startsWith('issuers/') ? text.replaceAll(/<table.*?<\/table>/gs, '') : text;
  const words = `${titleOf(page)} ${otherWords[page] ?? ''} `.repeat(page.startsWith('start/') ? 12 : 4);
  const weighted = prose.replace(/<\/h1>/, `$&<p>${words}</p>`);
  return page === 'troubleshooting'
    ? weighted.replaceAll(/<h2.*?>(.*?)<a.*?<\/h2>/g, (heading, title: string) => `${heading}<p>${title.repeat(4)}</p>`)
    : weighted;
}
