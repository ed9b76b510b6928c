import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CompilerState, Extractor, ExtractorConfig, type ExtractorMessage } from '@microsoft/api-extractor';
import manifest from '../src/auth/package.json';
import { format } from './format.ts';

const root = join(import.meta.dir, '..');
const compilerOptions = {
  ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', moduleResolution: 'nodenext', types: ['node'] },
  ...{ strict: true, skipLibCheck: true, allowImportingTsExtensions: true, noEmit: true },
};
const silent = { default: { logLevel: 'none' } };
const messages = { compilerMessageReporting: silent, extractorMessageReporting: silent, tsdocMessageReporting: silent };

/** The folder of the reports. */
export const reportsFolder = join(root, 'tests/api');

/**
 * Returns a report of each door of the package, by file name: the declarations that it exports, and those that these name, unless the
 * report of an earlier door has them. `guard` comes first.
 */
export async function apiReports(): Promise<ReadonlyMap<string, string>> {
  await mkdir(join(root, 'dist'), { recursive: true });
  // Below the root, because the declarations of other packages are resolved from there.
  const folder = await mkdtemp(join(root, 'dist/declarations-'));
  try {
    const compile = [process.execPath, 'x', 'tsc', '-p', 'src/auth', '--emitDeclarationOnly', '--outDir', folder];
    const { exitCode, stdout } = Bun.spawnSync(compile, { cwd: root });
    if (exitCode !== 0) throw new Error(`Cannot declare the package:\n${stdout}`);
    const files = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'object' ? [target.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1')] : [],
    );
    files.sort((one, other) => Number(other === 'guard') - Number(one === 'guard'));
    const configurations = files.map((file) => configure(folder, file));
    const [first, ...others] = configurations;
    if (first === undefined) throw new Error('Cannot report the API: the package has no doors');
    const additionalEntryPoints = others.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath);
    const compilerState = CompilerState.create(first, { additionalEntryPoints });
    for (const configuration of configurations)
      Extractor.invoke(configuration, { compilerState, localBuild: true, messageCallback: silence });
    const names = files.map((file) => `${file}.api.md`);
    const reports = await Promise.all(names.map((name) => Bun.file(join(folder, name)).text()));
    const stated = new Set<string>();
    return new Map(
      reports.map((report, index) => [`${names[index]}`, format('report.md', withoutStated(report, stated))]),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns a report without the declarations that are in `stated`, to which it adds the others. Exported ones are only named. */
function withoutStated(report: string, stated: Set<string>): string {
  const [, body = ''] = /^```ts\n(.*)^```$/ms.exec(report) ?? [];
  const repeated: string[] = [];
  const declarations = body.split(/\n(?=\n)/).filter((text) => {
    const [, keyword, declaration = ''] = /^\s*(?:\/\/[^\n]*\n)*(export )?(.*)/s.exec(text) ?? [];
    const isStated = stated.has(declaration);
    stated.add(declaration);
    if (isStated && keyword) repeated.push(/^(?:declare |abstract )?\w+ (\w+)/.exec(declaration)?.[1] ?? declaration);
    return !isStated;
  });
  if (repeated.length > 0)
    declarations.push(`\n// Exported as in an earlier report: ${[...new Set(repeated)].join(', ')}\n`);
  return `\`\`\`ts\n${declarations.join('\n').trim()}\n\`\`\`\n`;
}

const silence = (message: ExtractorMessage) => {
  message.handled = true;
};

/** Writes the report of one door to the folder of its declarations. */
function configure(folder: string, file: string): ExtractorConfig {
  const entry = join(folder, `${file}.d.ts`);
  return ExtractorConfig.prepare({
    configObjectFullPath: join(folder, 'api-extractor.json'),
    packageJsonFullPath: join(root, 'src/auth/package.json'),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: entry,
      compiler: { overrideTsconfig: { compilerOptions, files: [entry] } },
      apiReport: {
        enabled: true,
        reportFileName: `${file}.api.md`,
        reportFolder: folder,
        reportTempFolder: join(folder, 'temp'),
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages,
      newlineKind: 'lf',
    } as Parameters<typeof ExtractorConfig.prepare>[0]['configObject'],
  });
}

if (import.meta.main) for (const [name, text] of await apiReports()) await Bun.write(join(reportsFolder, name), text);
