/** Returns a generated text as `bun run format` would leave it in a file with this name. */
export function format(file: string, text: string): string {
  const command = [process.execPath, 'x', 'biome', 'format', `--stdin-file-path=${file}`];
  const { exitCode, signalCode, stdout, stderr } = Bun.spawnSync(command, { stdin: Buffer.from(text), stderr: 'pipe' });
  if (exitCode === 0) return stdout.toString();
  throw new Error(`Cannot format ${file}: biome ended with ${signalCode ?? exitCode}: ${stderr}${stdout}`);
}
