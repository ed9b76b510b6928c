import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs a command, such as `bun run test`, with a name server that never responds, and fails if a name was looked up:
 * tests that depend on name servers fail or hang elsewhere. Needs root, for a mount namespace and the port of name
 * servers.
 */
// An address of its own for each process (Linux has 22 bits of process IDs), so that several can run at a time.
const { pid } = process;
const address = `127.${64 + (pid >> 16)}.${(pid >> 8) & 255}.${pid & 255}`;
const asked = new Set<string>();

/** The labels of the question, each after its length, follow a header of 12 bytes (RFC 1035 §4.1). */
function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += 1 + (query[at] ?? 0))
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)));
  return labels.join('.');
}

await Bun.udpSocket({ hostname: address, port: 53, socket: { data: (_, query) => void asked.add(nameIn(query)) } });
const folder = mkdtempSync(join(tmpdir(), 'without-names-'));
const resolver = join(folder, 'resolv.conf');
writeFileSync(resolver, `nameserver ${address}\n`);
const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
const child = Bun.spawn(['unshare', '--mount', 'sh', '-c', script, resolver, ...process.argv.slice(2)], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
const status = await child.exited;
rmSync(folder, { recursive: true });
if (asked.size > 0) console.error(`Names were looked up: ${[...asked].sort().join(', ')}`);
process.exit(asked.size > 0 ? 1 : status);
