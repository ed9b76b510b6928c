import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { llmsText, readPage, sections, site, standalone, withExamples, withTabs } from '../../docs/.vitepress/pages.ts';
import { pages, readText, root } from '../support/repository.ts';
import { anchorsOf } from './anchors.ts';

/** Returns the pages to which a page links by a relative path. */
const linksOf = async (page: string) =>
  Array.from((await readText(page)).matchAll(/\]\((?!https?:)([^)\s#]+\.md)/g), ([, link = '']) =>
    join(dirname(page), link),
  );

// GitHub and the npm package have no sidebar, and the package has only the folder docs.
test.each([
  ['README.md', ''],
  ['docs/index.md', 'docs/'],
])('links lead from %s to every page of the repository that begins with "%s"', async (start, folder) => {
  const reached = new Set([start]);
  for (const page of reached) for (const link of await linksOf(page)) if (link.startsWith(folder)) reached.add(link);
  expect(pages.filter((page) => page.startsWith(folder) && !reached.has(page))).toEqual([]);
});

test('readers without the site are led to its form and pictures, and see no component', () => {
  const texts = Object.values(sections)
    .flat()
    .map((page) => standalone(page));
  expect(texts.filter((text) => /^<[A-Z]/m.test(text))).toEqual([]);
  const pictures = texts.flatMap((text) => text.match(/[^("\s]+\.(?:svg|png)(?=[)"])/g) ?? []);
  expect(pictures).toContain(`${site}status.svg`);
  for (const picture of pictures) expect(existsSync(join(root, 'docs/public', picture.replace(site, '')))).toBeTrue();
  expect(standalone('explain')).toContain(`The form is at ${site}explain.`);
});

test('readers of the Markdown of the site have each example, on a page that links to it', () => {
  const texts = Object.values(sections).flat().map(withExamples).join('\n');
  const examples = ['examples/*.ts', 'examples/next/*.ts'].flatMap((pattern) => [
    ...new Bun.Glob(pattern).scanSync(root),
  ]);
  expect(examples.length).toBeGreaterThan(20);
  expect(examples.filter((path) => !texts.includes(`\n## ${path}\n\n\`\`\`ts\nimport `))).toEqual([]);
});

test('the table of examples has each package that a file imports', async () => {
  const table = (await readText('examples/README.md')).matchAll(/^\| \[(\S+\.ts)\].*\| *(.*?) *\|$/gm);
  const transpiler = new Bun.Transpiler({ loader: 'ts' });
  const missing: string[] = [];
  for (const [, file = '', packages = ''] of table) {
    const imported = transpiler.scanImports(await readText(`examples/${file}`)).map(({ path }) => path);
    const needed = imported.flatMap(
      (path) => /^(?!node:|cloudflare:|protected-api)(?:@[^/]+\/)?[^/.]+/.exec(path)?.[0] ?? [],
    );
    const listed = packages.replaceAll('`', '').split(' ');
    missing.push(...needed.filter((name) => !listed.includes(name)).map((name) => `${file}: ${name}`));
  }
  expect(missing).toEqual([]);
});

test('no page lets npx fetch a package that gets a token, or runs a command of the package without saying where', async () => {
  for (const page of pages) {
    const parts = (await readText(page)).split(/^ *```/m);
    for (const [index, block] of parts.entries()) {
      if (index % 2 === 0 || !block.startsWith('sh\n')) continue;
      const commands = block.replaceAll('\\\n', '').match(/^.*npx .*protected-api.*$/gm) ?? [];
      for (const command of commands)
        if (/<|CLIENT_SECRET/.test(command)) expect(command, page).toContain('npx --no -- ');
      if (/^ *npx protected-api (?:issuer|explain)/m.test(block)) expect(parts[index - 1], page).toContain('folder');
    }
  }
});

test('tabs hold no other tabs', () => {
  for (const page of Object.values(sections).flat()) {
    const marks =
      withTabs(readPage(page))
        .match(/^:::.*$/gm)
        ?.join('\n') ?? '';
    expect(marks, page).toMatch(/^(?:::: code-group\n:::\n?)*$/);
  }
});

test.each(['express', 'hono', 'fastify', 'elysia', 'fetch', 'nextjs', 'nestjs'])(
  'start/%s has its file in JavaScript too',
  (name) => {
    const page = withTabs(readPage(`start/${name}`));
    const tab = (language: string) =>
      new RegExp(`^\`\`\`${language} \\[[^\\]]*\\.${language}\\]\\n(.*?)^\`\`\``, 'ms').exec(page)?.[1] ?? '';
    const tsconfig = '{ "compilerOptions": { "experimentalDecorators": true } }';
    const eraser = new Bun.Transpiler({ loader: 'ts', trimUnusedImports: true, tsconfig });
    expect(eraser.transformSync(tab('js'))).toBe(eraser.transformSync(tab('ts')));
    // This loader rejects types.
    expect(new Bun.Transpiler({ loader: 'js' }).transformSync(tab('js'))).not.toBe('');
    if (name === 'nestjs') return;
    // What the reader came for, without what he adds later.
    expect(tab('ts').split('\n').length - 1).toBeLessThanOrEqual(20);
    if (name !== 'nextjs') expect(page).toMatch(/^```sh \[JavaScript\]\n.*^node (?:app|server)\.js$/ms);
  },
);

test('the list of pages begins with the quick reference, and has each page once, with a description', () => {
  const [introduction = '', ...lists] = llmsText('').split(/^## /m);
  expect(introduction).toContain('](quick-reference.md)');
  const lines = lists.flatMap((list) => list.match(/^- .*$/gm) ?? []);
  const described = lines.map((line) => /\]\(([\w/-]+)\.md\): \S/.exec(line)?.[1] ?? line);
  expect(described.toSorted()).toEqual([...new Set(Object.values(sections).flat())].toSorted());
});

test('the quick reference has at most 250 lines', async () => {
  expect((await readText('docs/quick-reference.md')).trimEnd().split('\n').length).toBeLessThanOrEqual(250);
});

test('each start page has one request, and leads to the page with all three', async () => {
  const starts = sections.Start?.filter((page) => /^start\/(?!install|full-stack|graphql)/.test(page)) ?? [];
  expect(starts.length).toBeGreaterThan(5);
  for (const page of starts) {
    const text = await readText(`docs/${page}.md`);
    expect({ page, requests: text.match(/^curl /gm)?.length }).toEqual({ page, requests: 1 });
    expect(text).toContain('](install.md#try-it)');
  }
});

test('each start page with an import of a .ts file leads to the settings that it needs', async () => {
  const texts = await Promise.all((sections.Start ?? []).map((page) => readText(`docs/${page}.md`)));
  const importing = texts.filter((text) => /from '\.\/\w+\.ts'/.test(text));
  expect(importing.length).toBeGreaterThan(3);
  expect(importing.filter((text) => !text.includes('](install.md#typescript)'))).toEqual([]);
});

test('no command on a page has a variable between single quotes, where a shell leaves it as it is', async () => {
  const commands = (await Promise.all(pages.map(readText))).flatMap((text) =>
    Array.from(text.matchAll(/^ *```sh[^\n]*\n(.*?)^ *```$/gms), ([, block = '']) => block.split('\n')).flat(),
  );
  expect(commands.length).toBeGreaterThan(100);
  const quoted = (line: string) =>
    line
      .replaceAll(/"[^"]*"/g, '')
      .split("'")
      .filter((_, index) => index % 2 === 1);
  expect(commands.filter((line) => quoted(line).some((text) => /\$[A-Z]/.test(text)))).toEqual([]);
});

test('docs/guides/revocation.md needs at most 1,200 tokens for its option', async () => {
  // A token has four characters or more.
  expect((await readText('docs/guides/revocation.md')).length).toBeLessThanOrEqual(4800);
});

test.each(pages)('every relative link of %s has a target', async (page) => {
  const links = [...(await readText(page)).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
  const isBroken = async (link: string) => {
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(await readText(file)).includes(anchor);
  };
  const broken = await Promise.all(links.map(async (link) => ((await isBroken(link)) ? [link] : [])));
  expect(broken.flat()).toEqual([]);
});
