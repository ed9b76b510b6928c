import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { site } from './pages.ts';

/**
 * Where the text of a former page is now: a page, or one of its sections. An entry with an anchor is for that section of the former
 * page, the one without for the rest. `tests/docs/published-pages.txt` lists all pages that the site has ever had.
 */
export const moved: Readonly<Record<string, string>> = {
  'comparison-languages': 'comparison#other-languages',
  'comparison-setup': 'comparison',
  'guides/agents': 'guides/owners#agents',
  'guides/fapi': 'guides/certificates#fapi-20',
  'guides/key-cache': 'start/workers#cache-the-keys-across-cold-starts',
  'guides/mcp': 'mcp/tools',
  'guides/mcp#a-login-to-try': 'mcp/connect#a-login-to-try',
  'guides/mcp#clients-without-a-user': 'mcp/connect#a-login-to-try',
  'guides/mcp#issuers': 'mcp/connect#issuers',
  'guides/mcp#scopes-of-other-messages': 'mcp/tools#scopes-of-tools',
  'guides/mcp#sessions-belong-to-a-user': 'mcp/tools#sessions',
  'guides/mcp#several-names': 'mcp/connect#several-names',
  'guides/mcp#the-options-of-an-endpoint': 'mcp/tools#options',
  'guides/mcp#urls-and-algorithms': 'mcp/connect#urls',
  'guides/mcp#web-clients': 'mcp/connect#web-clients',
  'guides/mcp#what-tools-know-about-the-user': 'mcp/tools#the-user-of-a-tool',
  'guides/mcp#which-scopes-clients-request': 'mcp/connect#scopes-that-clients-request',
  'guides/other-headers': 'guides/forward-auth#tokens-in-other-headers',
  'guides/other-headers#api-keys-and-other-schemes-in-elysia':
    'guides/forward-auth#api-keys-and-other-schemes-in-elysia',
  'guides/other-headers#cloudflare-access': 'guides/forward-auth#cloudflare-access',
  'guides/step-up': 'guides/scopes#step-up-authentication',
  'guides/step-up#what-issuers-put-into-tokens': 'guides/scopes#what-issuers-put-into-tokens',
  'guides/typed-claims': 'guides/users#typed-claims',
  'guides/typed-claims#in-a-framework': 'guides/users#in-a-framework',
  'issuers/adfs': 'issuers/others#ad-fs',
  'issuers/authentik': 'issuers/others#authentik',
  'issuers/azure-b2c': 'issuers/entra#azure-ad-b2c-and-entra-external-id',
  'issuers/better-auth': 'issuers/login-services#better-auth',
  'issuers/clerk': 'issuers/login-services#clerk',
  'issuers/curity': 'issuers/others#curity-identity-server',
  'issuers/descope': 'issuers/login-services#descope',
  'issuers/dex': 'issuers/others#dex',
  'issuers/duende': 'issuers/others#duende-identityserver',
  'issuers/firebase': 'issuers/login-services#firebase',
  'issuers/forgerock': 'issuers/others#forgerock-and-pingam',
  'issuers/fusionauth': 'issuers/others#fusionauth',
  'issuers/github-actions': 'issuers/others#github-actions',
  'issuers/gitlab-ci': 'issuers/others#gitlab-ci',
  'issuers/google': 'issuers/others#google-service-accounts',
  'issuers/identity-proxies': 'issuers/others#identity-proxies',
  'issuers/kinde': 'issuers/login-services#kinde',
  'issuers/kubernetes': 'issuers/others#kubernetes-service-accounts',
  'issuers/logto': 'issuers/login-services#logto',
  'issuers/mcp-clients': 'mcp/connect#a-server-without-a-path',
  'issuers/nextcloud': 'issuers/others#nextcloud',
  'issuers/openiddict': 'issuers/others#openiddict',
  'issuers/oracle': 'issuers/others#oracle-identity-domains',
  'issuers/ory': 'issuers/others#ory-hydra-and-ory-network',
  'issuers/pingfederate': 'issuers/others#pingfederate',
  'issuers/pingone': 'issuers/others#pingone',
  'issuers/sap': 'issuers/others#sap-xsuaa-and-ias',
  'issuers/spire': 'issuers/others#spire',
  'issuers/stytch': 'issuers/login-services#stytch',
  'issuers/supabase': 'issuers/login-services#supabase',
  'issuers/vault': 'issuers/others#hashicorp-vault',
  'issuers/workos': 'issuers/login-services#workos',
  'issuers/zitadel': 'issuers/others#zitadel',
  'migration/express-jwt': 'migration/index#express-jwt',
  'migration/express-oauth2-jwt-bearer': 'migration/index#express-oauth2-jwt-bearer',
  'migration/fastify-jwt': 'migration/index#fastifyjwt-with-get-jwks',
  'migration/hono-jwk': 'migration/index#honos-jwk-middleware',
  'migration/jose': 'migration/index#jose',
  'migration/passport-jwt': 'migration/index#passport-jwt',
  'migration/spring': 'migration/index#spring-security',
  'start/koa': 'start/express#koa',
  'start/koa#optional-tokens': 'start/express#optional-tokens-in-koa',
  'start/mcp': 'mcp/index',
  'start/try-it': 'start/install#try-it',
  'start/try-it#1-start-an-issuer-for-development': 'start/install#start-an-issuer-for-development',
  'start/try-it#2-call-your-server': 'start/install#call-your-server',
  'start/try-it#if-you-get-another-response': 'start/install#if-you-get-another-response',
  upgrade: 'deploy#upgrade-without-a-lost-request',
};

/** Returns a page that leads to where the text of a former page is now, with and without scripts. */
function redirect(page: string, base: string): string {
  const urlOf = (target = '') => base + target.replace(/(?<=^|\/)index(?=#|$)/, '');
  const target = urlOf(moved[page]);
  const anchors = Object.entries(moved).flatMap(([from, to]) =>
    from.startsWith(`${page}#`) ? [[from.slice(page.length), urlOf(to)]] : [],
  );
  // A page that moved as a whole keeps its headings.
  const rest = target.includes('#') ? "''" : 'location.hash';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="${new URL(target, site).href}">
<script>location.replace((${JSON.stringify(Object.fromEntries(anchors))})[location.hash] ?? '${target}' + ${rest});</script>
<noscript><meta http-equiv="refresh" content="0; url=${target}"></noscript>
<p>This page is now <a href="${target}">here</a>.</p>
`;
}

/** Writes a page at the URL of each former page, and at that of its Markdown. The host of the site has no redirects. */
export async function writeRedirects(outDir: string, base: string): Promise<void> {
  for (const page of Object.keys(moved).filter((from) => !from.includes('#'))) {
    const file = join(outDir, page);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.html`, redirect(page, base));
    const [path, anchor] = moved[page]?.split('#') ?? [];
    await writeFile(`${file}.md`, `# Moved\n\nThis page is now ${site}${path}.md${anchor ? ` (#${anchor})` : ''}\n`);
  }
}
