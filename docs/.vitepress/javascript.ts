/** Removes types as the blocks of the start pages have them. A test compares the result with that of a compiler. */
const withoutTypes = (code: string): string =>
  code
    .replaceAll(/^ *type \w+,\n/gm, '')
    .replaceAll(/\btype \w+, |, type \w+(?= \})/g, '')
    .replaceAll(/\): Promise<Response>(?= \{)/g, ')')
    .replaceAll(/(?<=\b\w+|\}): (?:Request|Authentication|Guard \| undefined)(?=[;,)])/g, '');

const inJavaScript = (text: string) => text.replaceAll(/\b(app|route|server)\.ts\b/g, '$1.js');

/** Shows the file of a start page in TypeScript and in JavaScript, and how to start the latter. */
export function withJavaScript(page: string): string {
  const step = /(?<=^## 2\. Save this as `(\S+)\.ts`\n\n)```ts(?: nightly)?\n(.*?^```)$/ms;
  const [, path = '', code = ''] = step.exec(page) ?? [];
  if (code === '') return page;
  const name = path.split('/').at(-1);
  const block = `\`\`\`ts [${name}.ts]\n${code}\n\n\`\`\`js [${name}.js]\n${withoutTypes(inJavaScript(code))}`;
  return page
    .replace(step, () => block)
    .replace(
      /^```sh \[Node\.js 22\.18 or later\]\n(.*?^```)\n\n/ms,
      (tab, commands) => `${tab}\`\`\`sh [JavaScript]\n${inJavaScript(commands)}\n\n`,
    );
}

/** Marks the lines that a page adds to an application: a comment before their block lists them. */
export const withNewLines = (page: string): string =>
  page.replaceAll(
    /^<!-- new lines: ([\d, -]+) -->\n\n(```\w+(?: \w+)?)$/gm,
    (_, lines, fence) => `${fence} {${lines.replaceAll(' ', '')}}`,
  );
