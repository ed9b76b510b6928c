import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Extractor, ExtractorConfig, type ExtractorMessage } from '@microsoft/api-extractor';
import manifest from '../src/auth/package.json';

const root = join(import.meta.dir, '..');
const compilerOptions = {
  ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', moduleResolution: 'nodenext', types: ['node'] },
  ...{ strict: true, skipLibCheck: true, allowImportingTsExtensions: true, noEmit: true },
};
const silent = { default: { logLevel: 'none' } };
const messages = { compilerMessageReporting: silent, extractorMessageReporting: silent, tsdocMessageReporting: silent };

export const reportFile = join(root, 'tests/api.md');

/**
 * Returns a report of the packages: what each of their doors exports, and the declarations that these name, each once.
 */
export async function apiReport(): Promise<string> {
  await mkdir(join(root, 'dist'), { recursive: true });
  // Below the root, because the declarations of other packages are resolved from there.
  const folder = await mkdtemp(join(root, 'dist/declarations-'));
  try {
    for (const member of ['auth', 'probe']) declare(`src/${member}`, member === 'auth' ? join(folder, member) : folder);
    const doors = Object.keys(manifest.exports).map((door) => door.slice(2) || 'index');
    const exported = doors
      .filter((door) => door !== 'package.json')
      .map((door) => `export * as ${door} from './auth/${door}.js';`);
    const entry = join(folder, 'doors.d.ts');
    await Bun.write(entry, [...exported, "export * as probe from './probe/index.js';"].join('\n'));
    const paths = { 'protected-api/*': [join(folder, 'auth/*')] };
    const configObject = {
      projectFolder: folder,
      mainEntryPointFilePath: entry,
      compiler: { overrideTsconfig: { compilerOptions: { ...compilerOptions, paths }, files: [entry] } },
      apiReport: {
        enabled: true,
        reportFileName: 'report.api.md',
        reportFolder: folder,
        reportTempFolder: join(folder, 'temp'),
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages,
      newlineKind: 'lf',
    };
    const configuration = ExtractorConfig.prepare({
      configObject: configObject as Parameters<typeof ExtractorConfig.prepare>[0]['configObject'],
      configObjectFullPath: join(folder, 'api-extractor.json'),
      packageJsonFullPath: join(root, 'src/auth/package.json'),
    });
    Extractor.invoke(configuration, { localBuild: true, messageCallback: silence });
    return await Bun.file(join(folder, 'report.api.md')).text();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function declare(project: string, outDir: string): void {
  const compile = [process.execPath, 'x', 'tsc', '-p', project, '--emitDeclarationOnly', '--outDir', outDir];
  const { exitCode, stdout } = Bun.spawnSync(compile, { cwd: root });
  if (exitCode !== 0) throw new Error(`Cannot declare ${project}:\n${stdout}`);
}

const silence = (message: ExtractorMessage) => {
  message.handled = true;
};

if (import.meta.main) await Bun.write(reportFile, await apiReport());
