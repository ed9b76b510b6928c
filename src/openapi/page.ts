import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import swaggerUiStyle from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import swaggerUiScript from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
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

/** A file that the page loads. */
export interface Asset {
  readonly headers: Readonly<Record<string, string>>;
  readonly gzipped: Uint8Array;
  /** Returns it as it was, for the client that takes no gzip. */
  inflate(): Promise<Uint8Array>;
}

export type Page = Awaited<ReturnType<typeof createPage>>;

/**
 * Returns a page on which the OpenAPI document at `openapi/json` is read and tried, and the files that it loads: Swagger
 * UI from its package, and what makes it ours. The browser is told to ask nobody but this service, the address that
 * clients know it by and the token endpoint.
 */
export async function createPage({ audience, scopes, tokenEndpoint, publicUrl, client }: PageOptions) {
  const [script, style] = await Promise.all([
    readAsset('text/javascript; charset=utf-8', swaggerUiScript, pageScript),
    readAsset('text/css; charset=utf-8', swaggerUiStyle, pageStyle),
  ]);
  const assets = new Map<string, Asset>([
    ['page.js', script],
    ['page.css', style],
  ]);
  const version = createHash('sha256').update(script.gzipped).update(style.gzipped).digest('hex').slice(0, 16);
  const oauth = { scopes, ...(client && { clientId: client.id, clientSecret: client.secret }) };

  return {
    html: renderPage(version, { audience, oauth }),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': renderPolicy([tokenEndpoint, publicUrl ?? tokenEndpoint]),
      'referrer-policy': 'no-referrer',
      // Any page may call the API, but none may read credentials from this one.
      ...(client && { 'access-control-allow-origin': new URL(tokenEndpoint).origin }),
    },
    /** Returns the asset of that name, if it is of that version. */
    assetAt: (wantedVersion: string, name: string) => (wantedVersion === version ? assets.get(name) : undefined),
  };
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

async function readAsset(type: string, ...paths: string[]): Promise<Asset> {
  const parts = await Promise.all(paths.map((path) => readFile(path)));
  const gzipped = await promisify(gzip)(Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n')])));
  return {
    headers: { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' },
    gzipped,
    inflate: () => promisify(gunzip)(gzipped),
  };
}

function renderPage(version: string, settings: object): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Protected API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="openapi/${version}/page.css">
<div id="page"></div>
<noscript>This page needs JavaScript; <a href="openapi/json">its document</a> does not.</noscript>
<script type="application/json" id="settings">${JSON.stringify(settings).replaceAll('<', '\\u003c')}</script>
<script src="openapi/${version}/page.js"></script>
</html>
`;
}
