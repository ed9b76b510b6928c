import type { Case, CaseName } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import type { ServerProcess } from './server-process.ts';
import type { Tokens } from './tokens.ts';
import { type Load, runWrk } from './wrk.ts';

/** One case, sent to one process. */
export interface Measurement {
  readonly contestant: string;
  readonly caseName: CaseName;
  readonly requestsPerSecond: number;
  /** Requests the server answered for each second of its own CPU time, all threads together. */
  readonly requestsPerCpuSecond: number;
  /** Answers below 400 a second: in the outage, the good tokens. */
  readonly acceptedPerSecond: number;
  readonly p99Ms: number;
  readonly residentBytes: number;
  readonly generatorBusy: number;
  /** Over the whole case: the checked request and the warm-up too. */
  readonly keySetFetches: number;
  /** What was not as expected, so that the figures cannot be trusted. */
  readonly problems: readonly string[];
}

/** A server under test, and what was already sent to it. */
export interface Subject {
  readonly contestant: Contestant;
  readonly server: ServerProcess;
  readonly sent: Map<CaseName, number>;
}

export interface Durations {
  readonly warmupSeconds: number;
  readonly seconds: number;
}

const connections = 64;

const isOutage = ({ name }: Case) => name === 'outage';

const expectedStatus = ({ name, status }: Case, { statuses }: Contestant): number => statuses?.[name] ?? status;

/** The exact status of one answer; wrk itself only tells below 400 from above. */
async function checkStatus(testCase: Case, { contestant, server }: Subject, tokens: Tokens): Promise<string[]> {
  const authorization = testCase.header(tokens);
  const headers = authorization === undefined ? {} : { authorization };
  const { status } = await fetch(server.url + testCase.path, { headers });
  const expected = expectedStatus(testCase, contestant);
  return status === expected ? [] : [`one answer is ${status} instead of ${expected}`];
}

/** A benchmark of wrong answers is worth nothing: every answer has to be of the expected class. */
function checkCounts(testCase: Case, { contestant }: Subject, { requests, refused, socketErrors }: Load): string[] {
  const expected = expectedStatus(testCase, contestant) < 400 ? 0 : requests;
  // In an outage peers may refuse good tokens, and that is a finding; every second request is one.
  const isWrong = isOutage(testCase)
    ? contestant.isService === true && Math.abs(refused - requests / 2) > connections
    : refused !== expected;
  return [
    ...(isWrong ? [`${refused} of ${requests} answers are refusals`] : []),
    ...(socketErrors > 0 ? [`${socketErrors} broken connections`] : []),
  ];
}

/** Sends the case's load, and keeps count so that no kid comes twice and no rotation starts anew. */
async function send(testCase: Case, { server, sent }: Subject, tokens: Tokens, seconds: number) {
  const before = sent.get(testCase.name) ?? 0;
  const load = await runWrk({ url: server.url, seconds, connections, args: testCase.load(tokens, before) });
  sent.set(testCase.name, before + load.requests + connections);
  return load;
}

/** Checks one answer, warms up, and measures; what is wrong is in the measurement's problems. */
export async function measure(
  testCase: Case,
  subject: Subject,
  { tokens, keySet }: Context,
  { warmupSeconds, seconds }: Durations,
): Promise<Measurement> {
  const { contestant, server } = subject;
  const fetchesBefore = keySet.fetches(contestant.name);
  keySet.setDown(isOutage(testCase));
  try {
    const statusProblems = isOutage(testCase) ? [] : await checkStatus(testCase, subject, tokens);
    await send(testCase, subject, tokens, warmupSeconds);
    const cpuBefore = server.cpuSeconds();
    const load = await send(testCase, subject, tokens, seconds);
    const cpu = server.cpuSeconds() - cpuBefore;
    const problems = [...statusProblems, ...checkCounts(testCase, subject, load)];
    return {
      contestant: contestant.name,
      caseName: testCase.name,
      requestsPerSecond: load.requestsPerSecond,
      requestsPerCpuSecond: load.requests / cpu,
      acceptedPerSecond: (load.requests - load.refused) / load.seconds,
      p99Ms: load.p99Ms,
      residentBytes: server.residentBytes(),
      generatorBusy: load.generatorBusy,
      keySetFetches: keySet.fetches(contestant.name) - fetchesBefore,
      problems: problems.map((problem) => `${contestant.label}, ${testCase.name}: ${problem}`),
    };
  } finally {
    keySet.setDown(false);
  }
}
