/** Markup that is already escaped. */
export class Html {
  constructor(readonly markup: string) {}
}

type Value = Html | string | false | undefined | readonly Html[];

/** Returns the template as markup. Text is escaped, also for quoted attributes; `false` and `undefined` are omitted. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const render = (value: Value): string => {
    if (value === undefined || value === false) return '';
    if (value instanceof Html) return value.markup;
    if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
    return value.map(render).join('');
  };
  return new Html(strings.map((string, index) => string + render(values[index])).join(''));
}

/** Returns one line of Markdown as markup. Supports only code between backticks. */
export const inline = (markdown: string): Html[] =>
  markdown.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));

/** Returns Markdown as markup. Supports only paragraphs and code between backticks. */
export const paragraphs = (markdown: string): Html[] =>
  markdown
    .trim()
    .split(/\n\s*\n/)
    .map((text) => html`<p>${inline(text)}</p>\n`);
