import { type Case, type CaseName, cases, loadOf, tokenOf } from './cases.ts';
import { type Contestant, type Context, startContestant } from './contestants.ts';
import type { ServerProcess } from './server-process.ts';
import { type Load, runWrk } from './wrk.ts';

/** One case, sent to one process for a second. */
export interface Measurement {
  readonly contestant: string;
  readonly caseName: CaseName;
  /** CPU time of the server per request, all its threads together. */
  readonly cpuMicroseconds: number;
  readonly requestsPerSecond: number;
  readonly residentMebibytes: number;
  readonly keySetFetches: number;
  /** Unexpected outcomes: with any, the figures cannot be trusted. */
  readonly problems: readonly string[];
}

/** A server under test, and the number of requests of each case that it was sent. */
interface Subject {
  readonly contestant: Contestant;
  readonly server: ServerProcess;
  readonly sent: Map<CaseName, number>;
}

const connections = 64;

/** A benchmark of wrong answers is worth nothing: wrk tells below 400 from above, and one answer is read. */
async function findProblems(
  testCase: Case,
  expected: number,
  { contestant, server }: Subject,
  context: Context,
  load: Load,
) {
  const { requests, refused, socketErrors } = load;
  const token = tokenOf(testCase, context.tokens);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status } = await fetch(server.url + testCase.path, { headers });
  const share = { mixed: 0.5, static: 1, rotate: 1, unknown: 1 }[testCase.mode];
  const isWrong = Math.abs(refused - (expected < 400 ? 0 : requests * share)) > (share < 1 ? connections : 0);
  return [
    ...(status === expected ? [] : [`one answer is ${status} instead of ${expected}`]),
    ...(isWrong ? [`${refused} of ${requests} answers are refusals`] : []),
    ...(requests === 0 ? ['no answers'] : []),
    ...(socketErrors > 0 ? [`${socketErrors} broken connections`] : []),
  ].map((problem) => `${contestant.label}: ${problem}`);
}

async function measure(caseName: CaseName, subject: Subject, context: Context): Promise<Measurement> {
  const { contestant, server, sent } = subject;
  const { keySet, tokens } = context;
  const testCase: Case = cases[caseName];
  const before = sent.get(caseName) ?? 0;
  keySet.setDown(testCase.isOutage ?? false);
  const [cpuBefore, fetchesBefore] = [server.cpuSeconds(), keySet.fetches(contestant.name)];
  const load = await runWrk({ url: server.url, connections, seconds: 1, args: loadOf(testCase, tokens, before) });
  const cpuSeconds = server.cpuSeconds() - cpuBefore;
  sent.set(caseName, before + load.requests + connections);
  const expected = contestant.statuses?.[caseName] ?? testCase.status;
  const problems = await findProblems(testCase, expected, subject, context, load);
  keySet.setDown(false);
  return {
    contestant: contestant.name,
    caseName,
    cpuMicroseconds: (cpuSeconds / load.requests) * 1e6,
    requestsPerSecond: (load.requests / load.durationUs) * 1e6,
    residentMebibytes: server.residentBytes() / 2 ** 20,
    keySetFetches: keySet.fetches(contestant.name) - fetchesBefore,
    problems: problems.map((problem) => `${caseName}: ${problem}`),
  };
}

/**
 * Starts a fresh process of each server, warms it up with all its cases for a second each, and measures all servers case by
 * case, twice in opposite order, because the speed of a virtual machine changes from second to second.
 */
export async function runRound(
  contestants: readonly Contestant[],
  names: readonly CaseName[],
  context: Context,
): Promise<Measurement[]> {
  const subjects: Subject[] = [];
  const measurements: Measurement[] = [];
  const turnsOf = (name: CaseName) => subjects.filter(({ contestant }) => contestant.cases.includes(name));
  try {
    for (const contestant of contestants)
      subjects.push({ contestant, server: await startContestant(contestant, context), sent: new Map() });
    for (const name of names) for (const subject of turnsOf(name)) await measure(name, subject, context);
    for (const name of names)
      for (const turns of [turnsOf(name), turnsOf(name).toReversed()])
        for (const subject of turns) measurements.push(await measure(name, subject, context));
  } finally {
    await Promise.all(subjects.map(({ server }) => server.stop()));
  }
  return measurements;
}
