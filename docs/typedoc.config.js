import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Converter, ReflectionKind } from 'typedoc';
import { MarkdownPageEvent } from 'typedoc-plugin-markdown';
import manifest from '../src/auth/package.json' with { type: 'json' };
import probe from '../src/probe/package.json' with { type: 'json' };

const files = Object.values(manifest.exports).flatMap(
  ({ types }) => types?.replace('./dist/', '').replace('.d.ts', '') ?? [],
);

/** TypeDoc counts the anchors of members too, which get no heading: where a page has one heading of a name, links lead to that. */
const withoutNumbers = (text) =>
  text.replaceAll(/\(#([a-z]+)-1\)/g, (link, name) =>
    text.match(new RegExp(`^#+ ${name}(?:\\(\\))?$`, 'gim'))?.length === 1 ? `(#${name})` : link,
  );

const settings = readFileSync(join(import.meta.dirname, 'settings.md'), 'utf8');
/** The anchor on the page of settings, by the name of the option. */
const anchors = new Map(
  Array.from(settings.matchAll(/^### ([a-z]\w+)(?: · (\w+))?$/gm), ([, name, setting]) => [
    name,
    [name, setting].filter(Boolean).join('--').toLowerCase(),
  ]),
);

/** The page of settings describes each option: types of options lead to it, and say only once what all of them have. */
function withoutOptions(section) {
  const [, name] = /^### (\w*Options|LookedUpIssuer)$/m.exec(section) ?? [];
  if (name === undefined) return section;
  const inherited = [];
  const row = /^(\| .*?`(\w+)\??` \| .*? \| )(.*?) \|(?: - \|)?\n/gm;
  const rest = section.replaceAll(row, (whole, start, option, words) => {
    if (!anchors.has(option) || !settings.includes(words.slice(0, 30))) return whole;
    const link = `../settings.md#${anchors.get(option)}`;
    if (name === 'GuardOptions') return `${start}[Settings](${link}) |\n`;
    inherited.push(`[\`${option}\`](${link})`);
    return '';
  });
  const listed = `#### Properties\n\nAlso has these options: ${inherited.join(', ')}`;
  return inherited.length > 0 ? rest.replace(/^#### Properties$/m, listed) : rest;
}

/** Names each page after the import, not the file, and each destructured parameter after its type. */
function nameDoors({ converter, renderer }) {
  converter.on(Converter.EVENT_END, ({ project }) => {
    for (const door of project.children ?? []) {
      const [folder, file = 'index'] = door.name.split('/');
      door.name = file !== 'index' ? file : folder === 'auth' ? manifest.name : probe.name;
    }
    for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter))
      if (parameter.name === '__namedParameters')
        parameter.name = /[A-Z][a-z]+$/.exec(parameter.type?.name ?? 'Settings')?.[0].toLowerCase() ?? 'settings';
  });
  renderer.on(MarkdownPageEvent.END, (page) => {
    if (files.includes(page.model.name)) page.contents = page.contents?.replace(/^# /, `# ${manifest.name}/`);
    page.contents = withoutNumbers(page.contents ?? '')
      .split(/^(?=### )/m)
      .map(withoutOptions)
      .join('')
      // The row of a property may be gone.
      .replaceAll(/\[(`\w+`)\]\(#property-[\w-]+\)/g, '$1');
  });
}

/** Writes a page for each door of both packages, from the docstrings. */
export default {
  name: 'Reference',
  // The first door that exports a name describes it.
  entryPoints: ['index', ...files.filter((file) => file !== 'index')]
    .map((file) => `../src/auth/${file}.ts`)
    .concat('../src/probe/index.ts'),
  sortEntryPoints: false,
  excludeReferences: true,
  // That of the probe includes the sources of the guard.
  tsconfig: 'tsconfig.json',
  out: 'reference',
  entryFileName: 'index',
  router: 'module',
  plugin: ['typedoc-plugin-markdown', nameDoors],
  readme: 'none',
  excludeExternals: true,
  disableSources: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  groupOrder: ['Functions', 'Variables', 'Interfaces', 'Type Aliases'],
  interfacePropertiesFormat: 'table',
  parametersFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: { hideInherited: true, hideModifiers: true },
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  validation: { notExported: false },
  logLevel: 'Warn',
};
