import { parseObject } from '../values/json.ts';
import { parameterOf } from './challenges.ts';
import type { Received } from './sender.ts';

// Here the metadata of a protected resource are found (RFC 9728 §3, §5).

/** Returns the URLs of the metadata of a resource: with its path (RFC 9728 §3.1), and of its origin. */
export function metadataUrls(url: string): readonly string[] {
  const { origin, pathname } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return [...new Set([pathname === '/' ? root : root + pathname, root])];
}

/** Reads the metadata at the URL that a challenge names, or at the well-known ones, but never at another host. */
export async function readResourceMetadata(
  url: string,
  headers: Headers,
  read: (url: string) => Promise<Pick<Received, 'status' | 'text'>>,
) {
  const named = parameterOf(headers.get('www-authenticate'), 'resource_metadata') ?? '';
  const isNear = URL.canParse(named) && new URL(named).host === new URL(url).host;
  for (const metadataUrl of isNear ? [named] : metadataUrls(url)) {
    const { status, text } = await read(metadataUrl);
    const metadata = status === 200 ? parseObject(text) : undefined;
    if (metadata && 'resource' in metadata) return { metadata, metadataUrl };
  }
  return undefined;
}
