import { availableParallelism, loadavg } from 'node:os';
import { spawn } from 'bun';

/**
 * Runs a command ten times while every core has six more threads to run, as on a machine that is shared, and ends at
 * its first failure: `bun run scripts/busy.ts bun run check`.
 */
const runs = 10;
const loop = URL.createObjectURL(new Blob(['for (;;);'], { type: 'application/javascript' }));
for (let thread = 0; thread < availableParallelism() * 6; thread += 1) new Worker(loop);

for (let run = 1; run <= runs; run += 1) {
  const started = performance.now();
  const status = await spawn(process.argv.slice(2), { stdio: ['ignore', 'inherit', 'inherit'] }).exited;
  const seconds = Math.round((performance.now() - started) / 1000);
  const [load = 0] = loadavg();
  console.log(`Run ${run} of ${runs}: exit ${status} after ${seconds} s at load ${Math.round(load)}`);
  if (status !== 0) process.exit(1);
}
// The loops never end.
process.exit(0);
