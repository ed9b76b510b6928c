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

/** Returns a report of each door of the package, by file name: every declaration that it exports, and those that these name. */
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
    const configurations = files.map((file) => configure(folder, file));
    const [first, ...others] = configurations;
    if (first === undefined) throw new Error('Cannot report the API: the package has no doors');
    const additionalEntryPoints = others.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath);
    const compilerState = CompilerState.create(first, { additionalEntryPoints });
    for (const configuration of configurations)
      Extractor.invoke(configuration, { compilerState, localBuild: true, messageCallback: silence });
    const reports = files.map(async (file) => {
      const name = `${file}.api.md`;
      return [name, format(name, await Bun.file(join(folder, name)).text())] as const;
    });
    return new Map(await Promise.all(reports));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

if (import.meta.main)
  for (const [name, text] of await apiReports()) await Bun.write(join(root, 'docs/api', name), text);
