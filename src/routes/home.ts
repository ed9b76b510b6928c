import { createHash } from 'node:crypto';
import { Elysia } from 'elysia';
import { qualityOf } from '../http/accept.ts';

export interface HomeOptions {
  /** Where clients reach the API, without a trailing slash; undefined when that is not known. */
  readonly publicUrl: string | undefined;
  readonly hasDocumentation: boolean;
}

const name = 'Protected API';
const description = 'An OAuth 2.0 resource server: two of its three messages are for bearers of an access token.';
const style = `:root { color-scheme: light dark }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 15vh auto 0; padding: 0 1.5rem }
h1 { font-size: 1.75rem; margin: 0 }`;

/** Returns `GET /`: what this is and where its documentation is, as JSON or as a page for who prefers that. */
export function createHome({ publicUrl = '', hasDocumentation }: HomeOptions) {
  const links = hasDocumentation ? { documentation: `${publicUrl}/openapi`, openapi: `${publicUrl}/openapi/json` } : {};

  return new Elysia({ detail: { hide: true } }).get('/', ({ request, set }) => {
    const accept = request.headers.get('accept');
    set.headers.vary = 'Accept';
    if (qualityOf(accept, 'text/html') <= qualityOf(accept, 'application/json')) return { name, description, ...links };
    return new Response(renderPage(links), {
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': renderPolicy() },
    });
  });
}

function renderPolicy(): string {
  const styleHash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

function renderPage({
  documentation,
  openapi,
}: {
  readonly documentation?: string;
  readonly openapi?: string;
}): string {
  const where = documentation
    ? `<p><a href="${documentation}">Read and try it</a>, or get its <a href="${openapi}">OpenAPI document</a>.</p>\n`
    : '';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<h1>${name}</h1>
<p>${description}</p>
${where}</html>
`;
}
