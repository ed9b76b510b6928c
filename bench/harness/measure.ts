import type { Case, CaseName } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import type { ServerProcess } from './server-process.ts';
import type { Tokens } from './tokens.ts';
import { runWrk } from './wrk.ts';

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
  readonly requests: number;
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

const expectedStatus = ({ name, status }: Case, { statuses }: Contestant): number => statuses?.[name] ?? status;

async function checkStatus(testCase: Case, { contestant, server }: Subject, tokens: Tokens): Promise<void> {
  const authorization = testCase.header(tokens);
  const headers = authorization === undefined ? {} : { authorization };
  const { status } = await fetch(server.url + testCase.path, { headers });
  const expected = expectedStatus(testCase, contestant);
  if (status !== expected)
    throw new Error(`${contestant.label} answers "${testCase.name}" with ${status} instead of ${expected}`);
}

/** A benchmark of wrong answers is worth nothing: every answer has to be of the expected class. */
function checkCounts(testCase: Case, contestant: Contestant, requests: number, refused: number): void {
  const expected = expectedStatus(testCase, contestant) < 400 ? 0 : requests;
  if (refused !== expected)
    throw new Error(
      `${contestant.label} refused ${refused} of ${requests} in "${testCase.name}" instead of ${expected}`,
    );
}

/** Sends the case's load, and keeps count so that no kid comes twice and no rotation starts anew. */
async function send(testCase: Case, { server, sent }: Subject, tokens: Tokens, seconds: number) {
  const before = sent.get(testCase.name) ?? 0;
  const load = await runWrk({ url: server.url, seconds, args: testCase.load(tokens, before) });
  sent.set(testCase.name, before + load.requests + 64);
  return load;
}

/** Checks one answer, warms up, and measures. @throws {Error} an answer has another status than expected */
export async function measure(
  testCase: Case,
  subject: Subject,
  { tokens, keySet }: Context,
  { warmupSeconds, seconds }: Durations,
): Promise<Measurement> {
  const { contestant, server } = subject;
  const isOutage = testCase.name === 'outage';
  const fetchesBefore = keySet.fetches(contestant.name);
  keySet.setDown(isOutage);
  try {
    if (!isOutage) await checkStatus(testCase, subject, tokens);
    await send(testCase, subject, tokens, warmupSeconds);
    const cpuBefore = server.cpuSeconds();
    const load = await send(testCase, subject, tokens, seconds);
    const cpu = server.cpuSeconds() - cpuBefore;
    if (!isOutage) checkCounts(testCase, contestant, load.requests, load.refused);
    if (load.socketErrors > 0) throw new Error(`${contestant.label}: ${load.socketErrors} broken connections`);
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
      requests: load.requests,
    };
  } finally {
    keySet.setDown(false);
  }
}
