import { expect, test } from 'bun:test';
import { $ } from 'bun';
import { maxTokenLength } from '../../src/auth/rejections.ts';
import { readText, root } from '../support/repository.ts';

/** What says how long a token may be, in pages, messages, comments and configurations. */
const limits =
  /(?:(?:at most|longer than|over|up to) |(?:takes [\d,]+ of the |accepted, up to ))([\d,_]+) ?(?:\n[ #/*]*)?(characters|KiB)/g;
const aboutTokens = /\btokens?\b|JWT|compact serialization|base64url|RFC 6750/i;
const others = /\bproof|headers? over|\bchallenge/i;

const listed = await $`git ls-files -co --exclude-standard -- *.md .env.example deploy docs examples src`
  .cwd(root)
  .quiet()
  .text();
const files = listed.split('\n').filter((path) => /\.(?:ts|md|json|yaml|cfg|template|example)$/.test(path));
const found = await Promise.all(
  files.map(async (path) => {
    const text = await readText(path).catch(() => '');
    return [...text.matchAll(limits)].flatMap(({ 0: words, 1: digits = '', 2: unit, index }) => {
      const around = text.slice(Math.max(0, index - 70), index + words.length + 20);
      const size = Number(digits.replaceAll(/\D/g, '')) * (unit === 'KiB' ? 1024 : 1);
      // Identifiers and proofs are shorter.
      const isOfToken = size > 4096 && aboutTokens.test(around) && !others.test(around);
      return isOfToken ? [{ path, words, size }] : [];
    });
  }),
);

test('every page, message and configuration says the same of the longest token as the code', () => {
  const places = found.flat();
  expect(places.filter(({ size }) => size !== maxTokenLength)).toEqual([]);
  // The others are comments.
  const paths = new Set(places.flatMap(({ path }) => (/^src/.test(path) ? [] : [path])));
  expect([...paths].toSorted()).toEqual([
    '.env.example',
    'SECURITY.md',
    'deploy/haproxy/haproxy.cfg',
    'deploy/nginx/protected-api.conf.template',
    'docs/guides/forward-auth.md',
    'docs/openapi.json',
    'docs/settings.md',
    'docs/troubleshooting.md',
  ]);
});
