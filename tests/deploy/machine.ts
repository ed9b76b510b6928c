import { join } from 'node:path';
import { until } from '../support/child-process.ts';

/**
 * Boots a systemd of its own: process 1 of a container that shares only /usr, and the network, with this machine. It
 * starts nothing of the host's own services, and sees these paths of `folder` at their place. `flags` are more flags of
 * systemd-nspawn.
 */
export async function bootSystemd(folder: string, shown: readonly string[], flags: readonly string[] = []) {
  await Bun.write(join(folder, 'etc/systemd/system/nothing.target'), '[Unit]\nDescription=Nothing\n');
  const name = `protected-api-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const nspawn = Bun.spawn(
    [
      'systemd-nspawn',
      ...['--quiet', '--directory=/', '--volatile=yes', `--machine=${name}`, '--register=no', '--keep-unit'],
      ...['--link-journal=no', ...shown.map((path) => `--bind=${join(folder, path)}:/${path}`)],
      ...flags,
      ...['--boot', 'systemd.unit=nothing.target', 'systemd.firstboot=no'],
    ],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  );
  let leader = '';
  const inContainer = (...command: readonly string[]) =>
    Bun.spawnSync(['nsenter', '--all', '--target', leader, ...command])
      .stdout.toString()
      .trim();
  const systemctl = (...args: readonly string[]) => inContainer('systemctl', ...args);
  await until(async () => {
    leader = (await Bun.file(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`).text()).trim();
    return leader !== '' && systemctl('is-active', 'nothing.target') === 'active';
  }, 'a systemd that takes commands');
  const stop = async () => {
    nspawn.kill();
    await nspawn.exited;
  };
  return { leader: () => leader, inContainer, systemctl, stop };
}
