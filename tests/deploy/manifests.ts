import { join, relative } from 'node:path';
import { $ } from 'bun';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Returns what `kubectl apply -k` would send for the base with these components, and these lines of an overlay. */
export async function readManifests(components: readonly string[], overlay = ''): Promise<readonly Manifest[]> {
  const folder = temporaryFolder();
  const path = (name: string) => relative(folder, join(root, 'deploy/kubernetes', name));
  const bases = `resources: [${path('')}]\ncomponents: [${components.map(path)}]\n`;
  await Bun.write(join(folder, 'kustomization.yaml'), bases + overlay);
  return Bun.YAML.parse(await $`kubectl kustomize ${folder}`.text()) as Manifest[];
}

const packages: Readonly<Record<string, string>> = {
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

/** Returns the module that has the type of a manifest. */
export function typesOf({ apiVersion, kind }: Manifest): string {
  return `${packages[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
}

/** Returns the YAML blocks of a section of the operators' page. */
export async function yamlBlocks(heading: string): Promise<string[]> {
  const section = (await readText('docs/kubernetes.md')).split(`\n## ${heading}\n`)[1] ?? '';
  const [text = ''] = section.split(/\n##+ /);
  return Array.from(text.matchAll(/^```yaml\n(.*?)^```$/gms), ([, block = '']) => block);
}

/** Returns the blocks of a page that belong to the kustomization.yaml of an overlay. */
export async function overlayBlocks(page: string): Promise<string[]> {
  const blocks = (await readText(page)).matchAll(/^( *)```yaml\n\s*(# kustomization\.yaml\n.*?)^ *```$/gms);
  return Array.from(blocks, ([, indent = '', block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}
