import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './settings.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string };
}

/** Returns the manifests that `kubectl apply -k` would send. */
export function render(folder: string): readonly Manifest[] {
  const { stdout, stderr, exitCode } = Bun.spawnSync(['kubectl', 'kustomize', folder]);
  if (exitCode !== 0) throw new Error(`Cannot render ${folder}: ${stderr}`);
  return Bun.YAML.parse(stdout.toString()) as Manifest[];
}

export const modelPath = ({ apiVersion, kind }: Manifest) => `kubernetes-models/${apiVersion}/${kind}`;

/** Returns what the compiler says of manifests written as typed literals, which is where an unknown field is an error. */
export async function compile(checked: readonly Manifest[]): Promise<string> {
  await mkdir(join(root, 'dist'), { recursive: true });
  const folder = await mkdtemp(join(root, 'dist/manifests-'));
  const source = checked.map(
    (manifest) =>
      `import type { I${manifest.kind} } from '${modelPath(manifest)}';\n` +
      `(${JSON.stringify(manifest, null, 2)}) satisfies I${manifest.kind};\n`,
  );
  await Promise.all(source.map((text, index) => Bun.write(join(folder, `manifest-${index}.ts`), text)));
  await Bun.write(join(folder, 'tsconfig.json'), '{"extends":"../../tsconfig.json","include":["."]}');
  const { stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '--project', folder], { cwd: root });
  await rm(folder, { recursive: true });
  return stdout.toString();
}
