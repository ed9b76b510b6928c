import { join } from 'node:path';
import { type Case, type CaseName, caseNames, cases } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import { type ServerProcess, startContestant } from './server-process.ts';

/** One case, sent to one process for a second. */
export type Measurement = Awaited<ReturnType<typeof measure>>;

/** What the load generator saw. */
interface Load {
  readonly requests: number;
  readonly durationUs: number;
  /** Responses with a status of 400 or more. */
  readonly rejected: number;
  readonly socketErrors: number;
}

const connections = 64;

/** Runs wrk with one thread for a second, on the cores of this process. */
async function runWrk(url: string, args: readonly string[]): Promise<Load> {
  const script = join(import.meta.dir, 'load.lua');
  const flags = ['-t1', `-c${connections}`, '-d1s', '--timeout', '60s', '-s', script, url, '--', ...args];
  const output = await Bun.spawn(['wrk', ...flags], { stderr: 'inherit' }).stdout.text();
  const summary = output.trim().split('\n').at(-1) ?? '';
  if (!summary.startsWith('{')) throw new Error(`Cannot read the output of wrk: ${output}`);
  return JSON.parse(summary);
}

/** A benchmark of wrong responses is worth nothing: wrk counts those of 400 and above, and one response is read. */
async function findProblems(
  { path, status, tokens, isOutage }: Case,
  server: ServerProcess,
  load: Load,
  { tokens: made }: Context,
) {
  const { requests, rejected, socketErrors } = load;
  const token = tokens && made.lists[tokens][0];
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(server.url + path, { headers });
  const share = isOutage ? 0.5 : Number(status >= 400);
  const isWrong = Math.abs(rejected - requests * share) > (isOutage ? connections : 0);
  return [
    ...(response.status === status ? [] : [`one response is ${response.status} instead of ${status}`]),
    ...(isWrong ? [`${rejected} of ${requests} requests were rejected`] : []),
    ...(requests === 0 ? ['no responses'] : []),
    ...(socketErrors > 0 ? [`${socketErrors} broken connections`] : []),
  ];
}

async function measure(caseName: CaseName, server: ServerProcess, context: Context) {
  const { name, label } = server.contestant;
  const { keySet, tokens } = context;
  const testCase: Case = cases[caseName];
  keySet.isDown = testCase.isOutage ?? false;
  const [cpuBefore, fetchesBefore] = [server.cpuSeconds(), keySet.fetches(name)];
  const load = await runWrk(server.url, [testCase.path, ...(testCase.tokens ? [tokens.file(testCase.tokens)] : [])]);
  const cpuSeconds = server.cpuSeconds() - cpuBefore;
  const problems = await findProblems(testCase, server, load, context);
  keySet.isDown = false;
  return {
    contestant: name,
    caseName,
    /** CPU time of the server per request, all its threads together. */
    cpuMicroseconds: (cpuSeconds / load.requests) * 1e6,
    requestsPerSecond: (load.requests / load.durationUs) * 1e6,
    residentMebibytes: server.residentMebibytes(),
    keySetFetches: keySet.fetches(name) - fetchesBefore,
    /** Unexpected outcomes: with any, the figures cannot be trusted. */
    problems: problems.map((problem) => `${caseName}: ${label}: ${problem}`),
  };
}

/**
 * Starts a fresh process of each server, warms it up with all its cases for a second each, and measures all servers case by
 * case, twice in opposite order, because the speed of a virtual machine changes from second to second.
 */
export async function runRound(contestants: readonly Contestant[], context: Context): Promise<Measurement[]> {
  const servers: ServerProcess[] = [];
  const measurements: Measurement[] = [];
  const turnsOf = (name: CaseName) => servers.filter(({ contestant }) => contestant.cases.includes(name));
  try {
    for (const contestant of contestants) servers.push(await startContestant(contestant, context));
    for (const name of caseNames) for (const server of turnsOf(name)) await measure(name, server, context);
    for (const name of caseNames)
      for (const server of [...turnsOf(name), ...turnsOf(name).toReversed()])
        measurements.push(await measure(name, server, context));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  return measurements;
}
