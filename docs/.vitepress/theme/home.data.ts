import { createMarkdownRenderer, defineLoader, type SiteConfig } from 'vitepress';
import { readPage, withNote } from '../pages.ts';

/** The parts of the home page that its first screen shows, as HTML. */
export interface Home {
  readonly title: string;
  readonly sentence: string;
  readonly install: string;
  /** What to install before there is a release, or nothing. */
  readonly note: string;
  readonly code: string;
  readonly responses: string;
  /** What it does that others do not. */
  readonly points: string;
}

declare const data: Home;

export { data };

export default defineLoader({
  watch: ['../../index.md'],
  async load(): Promise<Home> {
    const { srcDir, markdown, site } = (globalThis as unknown as { VITEPRESS_CONFIG: SiteConfig }).VITEPRESS_CONFIG;
    const renderer = await createMarkdownRenderer(srcDir, markdown, site.base);
    const render = (text = '') => renderer.render(text, { relativePath: 'index.md', path: 'index.md' });
    const [first = ''] = readPage('index').split(/^## /m);
    const [title = '', sentence = ''] = first.split('\n\n');
    const block = (language: string) => new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(first) ?? [];
    return {
      title: title.replace('# ', ''),
      sentence: await render(sentence),
      install: (block('sh')[1] ?? '').trim(),
      note: await render(/^Version .+ is not on npm yet.*/m.exec(withNote(first))?.[0]),
      code: await render(block('ts')[0]),
      responses: await render(block('http')[0]),
      points: await render(/^- .*/ms.exec(first)?.[0]),
    };
  },
});
