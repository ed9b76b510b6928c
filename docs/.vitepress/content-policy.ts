import { createHash } from 'node:crypto';

const hashOf = (script: string) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

/**
 * Returns the page with a Content-Security-Policy, because the host of the site sets no headers. Only the site's own scripts run,
 * and the only requests to other hosts are those for an issuer's metadata and key set.
 */
export function withContentPolicy(page: string): string {
  const inline = Array.from(
    page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs),
    ([, script = '']) => script,
  );
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${inline.map(hashOf).join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return page.replace(
    /<head>\s*<meta charset="utf-8">/,
    (start) => `${start}<meta http-equiv="Content-Security-Policy" content="${policy}">`,
  );
}
