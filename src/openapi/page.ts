import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import swaggerUiStyle from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import swaggerUiScript from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
import { qualityOf } from '../http/accept.ts';
import pageStyle from './page/page.css' with { type: 'file' };
import pageScript from './page/page.js' with { type: 'file' };

export interface PageOptions {
  readonly audience: string;
  /** Asked for, unless the person asks for fewer. */
  readonly scopes: readonly string[];
  readonly tokenEndpoint: string;
  /** Where clients reach the API; undefined when that is not known. */
  readonly publicUrl: string | undefined;
  /** A client of the embedded issuer: its credentials are filled in for whoever opens the page. */
  readonly client?: { readonly id: string; readonly secret: string } | undefined;
}

/**
 * Returns a page on which the OpenAPI document at `openapi/json` is read and tried, and the two files that it loads:
 * Swagger UI from its package, and what makes it ours. The browser is told to ask nobody but this service, the address
 * that clients know it by and the token endpoint.
 */
export async function createPage({ audience, scopes, tokenEndpoint, publicUrl, client }: PageOptions) {
  const [script, style] = await Promise.all([
    createAsset('text/javascript; charset=utf-8', swaggerUiScript, pageScript),
    createAsset('text/css; charset=utf-8', swaggerUiStyle, pageStyle),
  ]);
  const oauth = { scopes, ...(client && { clientId: client.id, clientSecret: client.secret }) };
  const html = renderPage({ script: script.version, style: style.version }, { audience, oauth });
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': renderPolicy([tokenEndpoint, publicUrl ?? tokenEndpoint]),
    'referrer-policy': 'no-referrer',
    // Any page may call the API, but none may read credentials from this one.
    ...(client && { 'access-control-allow-origin': new URL(tokenEndpoint).origin }),
  };
  return { script, style, answer: () => new Response(html, { headers }) };
}

/** Swagger UI needs neither eval nor inline scripts and styles, only the images that its style sheet holds as data. */
function renderPolicy(urls: readonly string[]): string {
  const origins = new Set(urls.map((url) => new URL(url).origin));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    `connect-src 'self' ${[...origins].join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Returns a file made of several. Under the address that ends with its version it may be kept for ever. */
async function createAsset(type: string, ...paths: string[]) {
  const parts = await Promise.all(paths.map((path) => readFile(path)));
  const gzipped = await promisify(gzip)(Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n')])));
  const version = createHash('sha256').update(gzipped).digest('hex').slice(0, 16);

  return {
    version,
    /** Answers a request with the file: compressed, unless the client does not take that. */
    async answer({ headers, url }: Request): Promise<Response> {
      const isGzipped = qualityOf(headers.get('accept-encoding'), 'gzip') > 0;
      const body = isGzipped ? gzipped : await promisify(gunzip)(gzipped);
      return new Response(new Uint8Array(body), {
        headers: {
          'content-type': type,
          vary: 'Accept-Encoding',
          ...(isGzipped && { 'content-encoding': 'gzip' }),
          ...(url.endsWith(`?${version}`) && { 'cache-control': 'public, max-age=31536000, immutable' }),
        },
      });
    },
  };
}

function renderPage(versions: { readonly script: string; readonly style: string }, settings: object): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Protected API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="openapi/page.css?${versions.style}">
<div id="page"></div>
<noscript>This page needs JavaScript; <a href="openapi/json">its document</a> does not.</noscript>
<script type="application/json" id="settings">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
<script src="openapi/page.js?${versions.script}"></script>
</html>
`;
}
