import { runCommand } from '../../../src/probe/command/run.ts';

// Runs the command with each list of arguments in one process, and prints the status that each would have ended with.

for (const args of JSON.parse(process.argv[2] ?? '') as readonly (readonly string[])[]) {
  process.exitCode = 0;
  await runCommand(args);
  for (const stream of [process.stdout, process.stderr]) stream.write(`status ${process.exitCode}\n`);
}
process.exitCode = 0;
