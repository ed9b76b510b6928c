import { expect, test } from 'bun:test';
import { browserForTests } from '../support/documentation-page.ts';
import { base, serveSite } from '../support/site.ts';

const open = browserForTests();

/** What people type, and the beginnings of the pages that help, of which one is among the first three. */
const questions: Readonly<Record<string, string>> = {
  'express middleware': 'start/express',
  'protect a route in fastify': 'start/fastify',
  'read the user from the request': 'guides/users',
  'require a role': 'guides/scopes',
  rbac: 'guides/scopes',
  'public endpoint': 'guides/optional-tokens',
  'token expired': 'troubleshooting#token_expired',
  'invalid issuer': 'troubleshooting issuers/',
  '403 although the token has the scope': 'troubleshooting guides/scopes',
  '401 without reason': 'troubleshooting',
  'azure ad': 'issuers/entra',
  'google login': 'issuers/others#google',
  logging: 'guides/observability',
  performance: 'deploy',
  'unit tests with fake tokens': 'guides/testing',
  'cannot find module': 'start/install',
  'commonjs require': 'start/install',
  'refresh the jwks': 'settings#jwks operations#key-rotation',
  'self signed certificate': 'troubleshooting#keys_unavailable guides/certificates',
  'docker compose': 'deploy issuers/#private-networks',
  'block a user / revoke a token': 'guides/revocation',
  'id token': 'security troubleshooting',
  'change the error format': 'guides/errors',
  'microservices call another api': 'guides/token-exchange',
  'claude connector does not connect': 'mcp/connect',
};

/** Shorter, of those who know a word of the matter. */
const words: Readonly<Record<string, string>> = {
  express: 'start/express',
  fastify: 'start/fastify',
  hono: 'start/hono',
  elysia: 'start/elysia',
  nestjs: 'start/nestjs',
  koa: 'start/express',
  nextjs: 'start/nextjs',
  'cloudflare workers': 'start/workers',
  deno: 'start/fetch#deno',
  lambda: 'start/workers#aws-lambda',
  mcp: 'mcp/',
  trpc: 'start/graphql',
  graphql: 'start/graphql',
  sveltekit: 'start/full-stack',
  nuxt: 'start/full-stack',
  vitest: 'guides/testing',
  '401': 'troubleshooting',
  Unauthorized: 'troubleshooting',
  '403': 'troubleshooting',
  '503': 'troubleshooting',
  entra: 'issuers/entra',
  auth0: 'issuers/auth0',
  keycloak: 'issuers/keycloak',
  clerk: 'issuers/login-services#clerk',
  supabase: 'issuers/login-services#supabase',
  jsonwebtoken: 'migration/ start/express',
  hasRole: 'migration/ guides/scopes',
  cors: 'guides/browsers',
  dpop: 'guides/dpop',
  mtls: 'guides/certificates',
  introspection: 'guides/opaque-tokens',
  'multi tenant': 'guides/several-issuers',
  websocket: 'guides/websockets',
  kubernetes: 'kubernetes',
  prometheus: 'operations deploy guides/observability',
  curl: 'start/install',
};

const rows = Object.entries({ ...questions, ...words });

test('the search has a helpful page among its first three, on the page Explain too, whose policy allows no code from a text', async () => {
  await using site = serveSite();
  const { page, complaints } = await open({ viewport: { width: 1280, height: 800 } });
  await page.goto(new URL(`${base}explain`, site.url).href, { waitUntil: 'networkidle' });
  await page.keyboard.press('Control+k');
  const field = page.locator('.VPLocalSearchBox input');
  const missed: (readonly [string, string[]])[] = [];
  for (const [typed, helpful] of rows) {
    await field.fill('zzzz');
    await page.locator('.VPLocalSearchBox .no-results').waitFor();
    await field.fill(typed);
    const results = page.locator('.VPLocalSearchBox .result');
    await results.first().waitFor();
    const links = await Promise.all((await results.all()).slice(0, 3).map((each) => each.getAttribute('href')));
    const found = links.map((href) => href?.replace(base, '') ?? '');
    if (!helpful.split(' ').some((start) => found.some((each) => each.startsWith(start)))) missed.push([typed, found]);
  }
  // 13 and 39 once.
  expect(missed.filter(([typed]) => typed in questions).length, JSON.stringify(missed)).toBeLessThanOrEqual(2);
  expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(4);
  expect(complaints).toEqual([]);
});
