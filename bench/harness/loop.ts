import { measure } from 'mitata';
import { table } from './machine.ts';

/** A step that is repeated: `prepare` makes what it takes, outside of the measured part. */
export interface Step {
  readonly label: string;
  readonly prepare: () => () => unknown;
  /** How many are under way at once, where that is not one. */
  readonly inFlight?: number;
}

/** CPU time of all threads in nanoseconds: what else runs on the machine matters less to it. */
function cpuNanoseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

/** Returns the median and the quartiles of a step, in microseconds. */
async function measureStep({ prepare, inFlight = 1 }: Step) {
  const one = { 0: prepare, bench: (run: () => unknown) => run() };
  const many = {
    0: () => Array.from({ length: inFlight }, prepare),
    bench: (runs: (() => unknown)[]) => Promise.all(runs.map((run) => run())),
  };
  const generator = function* () {
    yield inFlight === 1 ? one : many;
  };
  // mitata's types know only functions that take nothing.
  // Without these, a first run that is slow makes mitata take samples of a single run.
  const always = inFlight === 1 ? { warmup_threshold: Infinity, batch_threshold: Infinity } : {};
  const stats = await measure(generator as never, { now: cpuNanoseconds, ...always });
  return [stats.p25, stats.p50, stats.p75].map((nanoseconds) => nanoseconds / inFlight / 1000);
}

/** Returns a table of steps, and the medians by label. */
export async function measureSteps(steps: readonly Step[]) {
  const rows: string[][] = [];
  const medians: Record<string, number> = {};
  for (const step of steps) {
    const quartiles = await measureStep(step);
    medians[step.label] = quartiles[1] ?? Number.NaN;
    rows.push([step.label, ...quartiles.map((microseconds) => microseconds.toFixed(2))]);
  }
  return { medians, page: table(['CPU time, µs', 'lower quartile', 'median', 'upper quartile'], rows) };
}
