import type { MarkdownOptions } from 'vitepress';
import { onGitHub, withTabs } from './pages.ts';

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0];

/** More characters in a row than this, summed over the longest cell of each column, make narrow columns, as do six columns. */
const widestRow = 150;

/** Code of at most so many characters stays on one line, and so does each part of longer code, as far as a phone has room. */
const longestCode = 26;
const longestName = 36;
const longestInCell = 22;

/** Changes how pages are drawn. In the repository and in the package, the same pages are plain Markdown. */
export function configureMarkdown(md: Markdown): void {
  md.core.ruler.before('normalize', 'tabs', (state) => {
    state.src = withTabs(state.src);
  });
  // Braces in code are text, not templates of Vue. A name never breaks, and other code breaks between its parts.
  md.renderer.rules.code_inline = (tokens, index) => {
    const { content = '' } = tokens[index] ?? {};
    const parts = content.length > longestCode ? content.split(/(?<=\s)|(?<=[=(,/])(?=[\w{'"-])/) : [content];
    const drawn = parts.map((part) => {
      const words = md.utils.escapeHtml(part).replaceAll(/[_.-](?=\w)|(?<=[a-z])(?=[A-Z][a-z])/g, '$&<wbr>');
      const size = part.length > longestName ? 'long' : part.length > longestInCell ? 'short broad' : 'short';
      return `<span class="${size}">${words}</span>`;
    });
    // As long as a line of text on a phone. A cell has less room.
    const isLine = content.length <= longestName && !content.includes(' ');
    return `<code v-pre${isLine ? ' class="line-long"' : ''}>${drawn.join('<wbr>')}</code>`;
  };
  drawBlocks(md);
  // The renderer of VitePress drops the attributes of tables.
  md.renderer.rules.table_open = (tokens, index, options, _env, self) => self.renderToken(tokens, index, options);
  md.core.ruler.push('tables', ({ tokens }) => labelCells(tokens));
  md.core.ruler.push('links-to-repository', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' && onGitHub(token.attrGet('href') ?? '', env.relativePath);
      if (href) token.attrSet('href', href);
    }
  });
  md.renderer.rules.text = (tokens, index) => {
    const { content = '' } = tokens[index] ?? {};
    return md.utils.escapeHtml(tokens[index - 1]?.markup === 'autolink' ? shortUrl(content) : content);
  };
}

/** Returns the host and the last part of a long URL that is drawn as itself. */
const shortUrl = (url: string): string =>
  url.length > 40
    ? url
        .replace(/^https:\/\/(?:www\.)?/, '')
        .replace(/(?:\.html?)?\/?$/, '')
        .replace(/\/.+\//, '/…/')
    : url;

/** Says which blocks are not whole files, how files are named, and colours each of several responses. */
function drawBlocks(md: Markdown): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (...given) => {
    const [tokens, index] = given;
    const { info = '', content = '' } = tokens[index] ?? {};
    if (info === 'http')
      return `<div class="language-http"><pre v-pre><code>${responses(md, content)}</code></pre></div>`;
    const html = fence?.(...given) ?? '';
    const [, file] = /^\w+ file=(\S+)/.exec(info) ?? [];
    if (file !== undefined) return `<p class="file-name">${md.utils.escapeHtml(file)}</p>${html}`;
    return info === 'ts fragment' ? html.replace('"lang">ts<', '"lang">excerpt<') : html;
  };
}

/** The highlighter takes everything after the first empty line for a body. */
function responses(md: Markdown, text: string): string {
  return md.utils
    .escapeHtml(text)
    .replaceAll(/^HTTP\/1\.1 (\d)\d\d .*$/gm, '<span class="status-$1">$&</span>')
    .replaceAll(/^([a-z-]+):(?= )/gm, '<span class="header">$1</span>:')
    .replaceAll(/^.+$/gm, '<span class="line">$&</span>');
}

/** The characters of the column of labels on a phone: a longer label wraps, but none of its words does. */
const columnOf = (labels: readonly string[]): number => {
  const lengths = labels.flatMap((label) => [
    Math.min(label.length, 12),
    ...label.split(' ').map((word) => word.length),
  ]);
  return Math.max(8, ...lengths);
};

/** Gives each cell the name of its column, which stands above it where the table is drawn as a list. */
function labelCells(tokens: ReturnType<Markdown['parse']>): void {
  let [head, widths]: [string[], number[]] = [[], []];
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'thead_open') [head, widths] = [[], []];
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'th_open') head.push(tokens[index + 1]?.content.replaceAll('`', '') ?? '');
    if (token.type === 'td_open') {
      token.attrSet('data-label', head[column] ?? '');
      // TypeDoc writes a hyphen where a docstring says nothing.
      const text = tokens[index + 1];
      if (text?.content === '-') text.children = [];
      if (column === 0 && /^[\d,]+$/.test(tokens[index + 1]?.content ?? '')) token.attrSet('class', 'number');
      const shown = tokens[index + 1]?.content.replaceAll(/\]\([^)]*\)/g, '') ?? '';
      widths[column] = Math.max(widths[column] ?? 0, shown.length);
      column += 1;
    }
    const isWide =
      widths.length > 5 || (widths.length > 2 && widths.reduce((sum, width) => sum + width, 0) > widestRow);
    if (token.type !== 'table_close') continue;
    const table = tokens.slice(0, index).findLast(({ type }) => type === 'table_open');
    if (isWide) table?.attrSet('class', 'as-list');
    table?.attrSet('style', `--label: ${columnOf(head.slice(1))}`);
  }
}
