/** Returns a generated text as `bun run format` would leave it in a file with this name. */
export function format(file: string, text: string): string {
  const command = [process.execPath, 'x', 'biome', 'format', `--stdin-file-path=${file}`];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { stdin: Buffer.from(text), stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`Cannot format ${file}: ${stderr}`);
  return stdout.toString();
}
