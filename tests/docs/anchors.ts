import { slugify } from '../../docs/.vitepress/pages.ts';

/** Returns the anchors that GitHub and the site give to the headings of a page: a second one of a name has a number. */
export function anchorsOf(text: string): readonly string[] {
  const seen = new Map<string, number>();
  const withoutCode = text.replaceAll(/^ *```.*?^ *```$/gms, '');
  return Array.from(withoutCode.matchAll(/^#+ (.*)$/gm), ([, heading = '']) => {
    const slug = slugify(heading);
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
}
