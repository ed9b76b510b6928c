import { join } from 'node:path';
import { type Case, type CaseName, caseNames, cases } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import { type ServerProcess, startContestant } from './server-process.ts';

export type Measurement = Awaited<ReturnType<typeof measure>>[number];

interface Load {
  readonly requests: number;
  /** Responses with a status of 400 or more. */
  readonly rejected: number;
  readonly socketErrors: number;
}

const connections = 32;

/** Runs wrk with one thread, on the core of this process. */
async function runWrk(url: string, seconds: number, args: readonly string[]): Promise<Load> {
  const script = join(import.meta.dir, 'load.lua');
  const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '60s', '-s', script, url, '--', ...args];
  const output = await Bun.spawn(['wrk', ...flags], { stderr: 'inherit' }).stdout.text();
  const summary = output.trim().split('\n').at(-1) ?? '';
  if (!summary.startsWith('{')) throw new Error(`Cannot read the output of wrk: ${output}`);
  return JSON.parse(summary);
}

/** A benchmark of wrong responses is worth nothing: wrk counts those of 400 and above, and one response is read. */
async function findProblems(
  { path, status, tokens }: Case,
  server: ServerProcess,
  load: Load,
  { tokens: made }: Context,
) {
  const { requests, rejected, socketErrors } = load;
  const token = tokens && made.lists[tokens][0];
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(server.url + path, { headers });
  const isWrong = rejected !== (status >= 400 ? requests : 0);
  return [
    ...(response.status === status ? [] : [`one response is ${response.status} instead of ${status}`]),
    ...(isWrong ? [`${rejected} of ${requests} requests were rejected`] : []),
    ...(requests === 0 ? ['no responses'] : []),
    ...(socketErrors > 0 ? [`${socketErrors} broken connections`] : []),
  ];
}

/**
 * Loads all servers of a case at the same moment. They share a core, so that each of them runs as fast as that core
 * does just then: the speed of a virtual machine changes from second to second by more than two servers differ.
 */
async function measure(caseName: CaseName, servers: readonly ServerProcess[], context: Context, seconds: number) {
  const { tokens } = context;
  const testCase: Case = cases[caseName];
  const args = [testCase.path, ...(testCase.tokens ? [tokens.file(testCase.tokens)] : [])];
  const before = servers.map((server) => server.cpuSeconds());
  const loads = await Promise.all(servers.map(({ url }) => runWrk(url, seconds, args)));
  const spent = servers.map((server, index) => server.cpuSeconds() - (before[index] ?? 0));
  const measurements = loads.map(async (load, index) => {
    const server = servers[index] as ServerProcess;
    const { name, label } = server.contestant;
    const problems = await findProblems(testCase, server, load, context);
    return {
      contestant: name,
      caseName,
      /** CPU time of the server per request, all its threads together. */
      cpuMicroseconds: ((spent[index] ?? 0) / load.requests) * 1e6,
      residentMebibytes: server.residentMebibytes(),
      /** Unexpected outcomes: with any, the figures cannot be trusted. */
      problems: problems.map((problem) => `${caseName}: ${label}: ${problem}`),
    };
  });
  return Promise.all(measurements);
}

/** Starts a fresh process of each server, warms them up with all their cases, and measures case by case. */
export async function runRound(contestants: readonly Contestant[], context: Context): Promise<Measurement[]> {
  const servers: ServerProcess[] = [];
  const measurements: Measurement[] = [];
  const turnOf = (name: CaseName) => servers.filter(({ contestant }) => contestant.cases.includes(name));
  try {
    for (const contestant of contestants) servers.push(await startContestant(contestant, context));
    // Long enough for the compiler: ten servers share the core.
    for (const name of caseNames) await measure(name, turnOf(name), context, 6);
    for (const name of caseNames) measurements.push(...(await measure(name, turnOf(name), context, 4)));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  return measurements;
}
