import { createHash } from 'node:crypto';
import { license, name, version } from './about.ts';
import style from './page/page.css' with { type: 'text' };

/** Markup that is already escaped. */
class Html {
  constructor(readonly markup: string) {}
}

type Value = Html | string | false | undefined | readonly Html[];

export type { Html };

/** Returns the template as markup. Text is escaped for elements and quoted attributes. `false` and `undefined` are omitted. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  const render = (value: Value): string => {
    if (value === undefined || value === false) return '';
    if (value instanceof Html) return value.markup;
    if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
    return value.map(render).join('');
  };
  return new Html(strings.map((string, index) => string + render(values[index])).join(''));
}

/** Returns Markdown as markup. Supports only paragraphs and code between backticks. */
export function paragraphs(markdown: string): Html[] {
  const inlineCode = (part: string, index: number) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`);
  const texts = markdown.trim().split(/\n\s*\n/);
  return texts.map((text) => html`<p>${text.split('`').map(inlineCode)}</p>\n`);
}

/** Returns method and path of a route as markup, which look the same on each page. */
export const renderRoute = (method: string, path: string) =>
  html`<span class="method">${method}</span> <code>${path}</code>`;

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%231d4ed8'/%3E%3Cpath d='M5 7V5.5a3 3 0 0 1 6 0V7h.5v5h-7V7zm1.5 0h3V5.5a1.5 1.5 0 0 0-3 0z' fill='%23fff'/%3E%3C/svg%3E";

/** Returns a complete page with a footer. `head` loads its scripts. The style is inline, because the first paint would wait for a file. */
export function renderPage(body: Html, head?: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="${icon}">
${new Html(`<style>${style}</style>`)}
${head}
</head>
<body>
${body}
<footer>${name} ${version} · ${license} license</footer>
</body>
</html>
`.markup;
}

/** Returns the headers of a page. Its policy allows the inline style, and otherwise only what `directives` add. */
export function pageHeaders(directives: readonly string[] = []): Readonly<Record<string, string>> {
  const styleHash = createHash('sha256').update(style).digest('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...directives,
  ];
  return { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy.join('; ') };
}
