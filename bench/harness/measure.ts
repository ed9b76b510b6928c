import { type Case, type CaseName, loadOf, tokenOf } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import type { ServerProcess } from './server-process.ts';
import { type Load, type PausedLoad, runWrk, startPaused } from './wrk.ts';

/** One case, sent to one process. */
export interface Measurement {
  readonly contestant: string;
  readonly caseName: CaseName;
  /** CPU time of the server per request, all its threads together. */
  readonly cpuMicroseconds: number;
  readonly requestsPerSecond: number;
  readonly residentMebibytes: number;
  /** During the measured part. */
  readonly keySetFetches: number;
  /** Unexpected outcomes: with any, the figures cannot be trusted. */
  readonly problems: readonly string[];
}

/** A server under test, and the number of requests of each case that it was sent. */
export interface Subject {
  readonly contestant: Contestant;
  readonly server: ServerProcess;
  readonly sent: Map<CaseName, number>;
}

type NamedCase = Case & { readonly name: CaseName };

/** A case that a server takes part in. */
export interface Turn {
  readonly testCase: NamedCase;
  readonly subject: Subject;
}

const connections = 64;
const sliceMs = 50;
/** In which a server answers what it was sent before a pause. */
const drainMs = 5;
const expectedStatus = ({ name, status }: NamedCase, { statuses }: Contestant) => statuses?.[name] ?? status;

/** The exact status of one answer; wrk itself only tells below 400 from above. */
async function checkStatus({ testCase, subject }: Turn, { tokens }: Context): Promise<string[]> {
  // In an outage, a server may wait for its keys.
  if (testCase.isOutage) return [];
  const token = tokenOf(testCase, tokens);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status } = await fetch(subject.server.url + testCase.path, { headers });
  const expected = expectedStatus(testCase, subject.contestant);
  return status === expected ? [] : [`one answer is ${status} instead of ${expected}`];
}

/** A benchmark of wrong answers is worth nothing: every answer has to be of the expected class. */
function checkCounts({ testCase, subject: { contestant } }: Turn, { requests, refused, socketErrors }: Load) {
  const expected = expectedStatus(testCase, contestant) < 400 ? 0 : requests;
  // Peers may reject valid tokens during an outage, and that is a finding; every second request is one.
  const isWrong =
    testCase.mode === 'mixed'
      ? contestant.settings !== undefined && Math.abs(refused - requests / 2) > connections
      : refused !== expected;
  return [
    ...(isWrong ? [`${refused} of ${requests} answers are refusals`] : []),
    ...(requests === 0 ? ['no answers'] : []),
    ...(socketErrors > 0 ? [`${socketErrors} broken connections`] : []),
  ];
}

/** A load on one server, and what the server has spent on it so far. */
interface Run extends Turn {
  readonly load: PausedLoad;
  readonly fetchesBefore: number;
  readonly problems: readonly string[];
  cpuSeconds: number;
  activeSeconds: number;
}

/** Sends a case for a second, so that everything is compiled and cached before anything is measured. */
export async function warmUp(turn: Turn, context: Context): Promise<void> {
  const { requests } = await runWrk({ ...loadFor(turn, context), seconds: turn.testCase.warmupSeconds ?? 1 });
  countSent(turn, requests);
}

/** Checks one answer, and starts a load that is paused. */
async function start(turn: Turn, context: Context): Promise<Run> {
  const { server, contestant } = turn.subject;
  const fetchesBefore = context.keySet.fetches(contestant.name);
  const problems = await checkStatus(turn, context);
  const cpuBefore = server.cpuSeconds();
  const load = await startPaused(loadFor(turn, context));
  await Bun.sleep(drainMs);
  return { ...turn, load, fetchesBefore, problems, cpuSeconds: server.cpuSeconds() - cpuBefore, activeSeconds: 0 };
}

/** A rotation continues where the last load of this server ended. */
function loadFor({ testCase, subject: { server, sent } }: Turn, { tokens }: Context) {
  return { url: server.url, connections, args: loadOf(testCase, tokens, sent.get(testCase.name) ?? 0) };
}

function countSent({ testCase, subject: { sent } }: Turn, requests: number): void {
  sent.set(testCase.name, (sent.get(testCase.name) ?? 0) + requests + connections);
}

/** Adds the time and the CPU time of the server during `send` to those of the run. */
async function account<Outcome>(run: Run, send: () => Promise<Outcome>): Promise<Outcome> {
  const { server } = run.subject;
  const [cpuBefore, before] = [server.cpuSeconds(), performance.now()];
  const outcome = await send();
  run.activeSeconds += (performance.now() - before) / 1000;
  await Bun.sleep(drainMs);
  run.cpuSeconds += server.cpuSeconds() - cpuBefore;
  return outcome;
}

async function finish(run: Run, context: Context): Promise<Measurement> {
  const { testCase, subject } = run;
  const { server, contestant } = subject;
  const seen = await account(run, run.load.finish);
  countSent(run, seen.requests);
  return {
    contestant: contestant.name,
    caseName: testCase.name,
    cpuMicroseconds: (run.cpuSeconds / seen.requests) * 1e6,
    requestsPerSecond: seen.requests / run.activeSeconds,
    residentMebibytes: server.residentBytes() / 2 ** 20,
    keySetFetches: context.keySet.fetches(contestant.name) - run.fetchesBefore,
    problems: [...run.problems, ...checkCounts(run, seen)].map(
      (problem) => `${contestant.label}, ${testCase.name}: ${problem}`,
    ),
  };
}

/**
 * Measures servers in slices of 50 ms that take turns, because the speed of a virtual machine changes from second to second.
 * Checks one answer of each before.
 */
export async function measure(turns: readonly Turn[], context: Context, seconds: number): Promise<Measurement[]> {
  context.keySet.setDown(turns.some(({ testCase }) => testCase.isOutage));
  try {
    const runs: Run[] = [];
    for (const turn of turns) runs.push(await start(turn, context));
    for (let slice = 0; slice < (seconds * 1000) / sliceMs; slice += 1)
      for (const run of runs)
        await account(run, async () => {
          run.load.resume();
          await Bun.sleep(sliceMs);
          run.load.pause();
        });
    const measurements: Measurement[] = [];
    for (const run of runs) measurements.push(await finish(run, context));
    return measurements;
  } finally {
    context.keySet.setDown(false);
  }
}
