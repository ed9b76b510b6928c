import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { defineLoader } from 'vitepress';
import { moved } from '../moved.ts';

/** An issuer, where the site has it, and the settings that its tokens need. Words in capitals are to be replaced. */
export interface IssuerPage {
  readonly slug: string;
  readonly page: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
}

declare const data: readonly IssuerPage[];

export { data };

export default defineLoader({
  watch: ['../../../tests/docs/issuers/*.json'],
  load: (files): readonly IssuerPage[] =>
    files
      .map((file) => {
        const { name, settings } = JSON.parse(readFileSync(file, 'utf8'));
        const slug = basename(file, '.json');
        return { slug, page: moved[`issuers/${slug}`] ?? `issuers/${slug}`, name, settings };
      })
      .toSorted((a, b) => a.name.localeCompare(b.name)),
});
