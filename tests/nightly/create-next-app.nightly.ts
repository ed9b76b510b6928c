import { describe, expect } from 'bun:test';
import { dirname, join } from 'node:path';
import { serverRows } from '../examples/server-rows.ts';
import { run, runToEnd } from '../support/child-process.ts';
import { packed } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { firstBlock } from './frameworks/applications.ts';

/*
 * Applications that create-next-app makes with its default answers, with the route of docs/start/nextjs.md and the
 * files of examples/next: built without settings, and started as their users do. Its fonts come from the network.
 */

const PATH = `${dirname(nodePath(newestNode))}:${process.env.PATH}`;
const layout = `export default function Layout({ children }: { children: React.ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}`;
const page = await readText('docs/start/nextjs.md');

describe.each(['16', '15'])('an application of create-next-app@%s', (version) => {
  const parent = temporaryFolder();
  const folder = join(parent, 'app');
  const environment = { ...process.env, PATH, NEXT_TELEMETRY_DISABLED: '1' } as Record<string, string>;
  const succeeds = async (command: string, cwd: string) => {
    const { status, stdout, stderr } = await runToEnd(['bash', '-c', `cd ${cwd} && ${command}`], environment);
    expect(status, stdout + stderr).toBe(0);
    return stdout + stderr;
  };

  serverRows(
    'with the files of examples/next',
    async (settings) => {
      const command = `npx --yes create-next-app@${version} app --yes --app --ts --skip-install --disable-git --use-npm`;
      await succeeds(`${command} --no-src-dir`, parent);
      await Bun.write(join(folder, 'app/layout.tsx'), layout);
      for (const file of ['guard.ts', 'proxy.ts', 'app/messages/route.ts'])
        await Bun.write(join(folder, file), Bun.file(join(root, 'examples/next', file)));
      // What Next.js 15 has instead runs on Edge, for which webpack compiles it.
      const middleware = (await readText('examples/next/proxy.ts')).replace('function proxy', 'function middleware');
      if (version === '15') await Bun.write(join(folder, 'middleware.ts'), middleware);
      await Bun.write(join(folder, 'app/page-of-docs/route.ts'), firstBlock(page.split('## 2.')[1] ?? ''));
      await Bun.write(join(folder, 'app/health/route.ts'), "export const GET = () => new Response('ok');");
      await succeeds(`npm install --no-audit --no-fund ${await packed()}`, folder);
      expect(await succeeds('npx next build', folder)).not.toMatch(/⚠|warning/i);
      const start = `cd ${folder} && exec node node_modules/next/dist/bin/next start -H 127.0.0.1 -p ${settings.PORT}`;
      return run(['bash', '-c', start], { ...environment, ...settings });
    },
    200,
  );
});
