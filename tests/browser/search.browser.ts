import { expect, test } from 'bun:test';
import { browserForTests } from '../support/documentation-page.ts';
import { base, serveSite } from '../support/site.ts';

const open = browserForTests();

/** What people type, and the page that is found first. */
const rows = Object.entries({
  express: 'start/express',
  fastify: 'start/fastify',
  hono: 'start/hono',
  elysia: 'start/elysia',
  nestjs: 'start/nestjs',
  koa: 'start/express#koa',
  nextjs: 'start/nextjs',
  'cloudflare workers': 'start/workers',
  deno: 'start/fetch#deno',
  lambda: 'start/workers#aws-lambda',
  mcp: 'mcp/',
  vercel: 'start/',
  trpc: 'start/graphql#trpc',
  graphql: 'start/graphql',
  sveltekit: 'start/full-stack',
  nuxt: 'start/full-stack',
  remix: 'start/full-stack#react-router',
  vitest: 'guides/testing#jest-and-vitest',
  '401': 'troubleshooting#401-unauthorized',
  Unauthorized: 'troubleshooting#401-unauthorized',
  '403': 'troubleshooting#403-forbidden',
  Forbidden: 'troubleshooting#403-forbidden',
  '503': 'troubleshooting#503-service-unavailable',
  'token expired': 'troubleshooting#token_expired',
  entra: 'issuers/entra',
  auth0: 'issuers/auth0',
  revocation: 'guides/revocation',
  curl: 'start/install#try-it',
});

test('the search of the site finds the page about a word first, also on the page Explain, whose policy allows no code from a text', async () => {
  await using site = serveSite();
  const { page, complaints } = await open({ viewport: { width: 1280, height: 800 } });
  const found: Record<string, string | null> = {};
  await page.goto(new URL(`${base}explain`, site.url).href, { waitUntil: 'networkidle' });
  await page.keyboard.press('Control+k');
  const field = page.locator('.VPLocalSearchBox input');
  for (const [word] of rows) {
    await field.fill('zzzz');
    await page.locator('.VPLocalSearchBox .no-results').waitFor();
    await field.fill(word);
    const first = page.locator('.VPLocalSearchBox .result').first();
    await first.waitFor();
    found[word] = (await first.getAttribute('href'))?.replace(base, '') ?? null;
  }
  const wrong = rows.filter(([word, path]) => !found[word]?.startsWith(path)).map(([word]) => [word, found[word]]);
  expect(wrong).toEqual([]);
  expect(complaints).toEqual([]);
});
