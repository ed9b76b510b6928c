import { type Case, type CaseName, loadOf, tokenOf } from './cases.ts';
import type { Contestant, Context } from './contestants.ts';
import type { ServerProcess } from './server-process.ts';
import { type Load, runWrk } from './wrk.ts';

/** One case, sent to one process. */
export interface Measurement {
  readonly contestant: string;
  readonly caseName: CaseName;
  /** Time of the server's CPU for a request, all its threads together. */
  readonly cpuMicroseconds: number;
  readonly requestsPerSecond: number;
  /** Answers below 400 a second: in the outage, the good tokens. */
  readonly acceptedPerSecond: number;
  readonly residentMebibytes: number;
  /** Over the whole case: the checked request and the warm-up too. */
  readonly keySetFetches: number;
  /** What was not as expected, so that the figures cannot be trusted. */
  readonly problems: readonly string[];
}

/** A server under test, and how many requests of each case it was sent. */
export interface Subject {
  readonly contestant: Contestant;
  readonly server: ServerProcess;
  readonly sent: Map<CaseName, number>;
}

type NamedCase = Case & { readonly name: CaseName };

const connections = 64;
const expectedStatus = ({ name, status }: NamedCase, { statuses }: Contestant) => statuses?.[name] ?? status;

/** The exact status of one answer; wrk itself only tells below 400 from above. */
async function checkStatus(testCase: NamedCase, { contestant, server }: Subject, context: Context): Promise<string[]> {
  const token = tokenOf(testCase, context.tokens);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status } = await fetch(server.url + testCase.path, { headers });
  const expected = expectedStatus(testCase, contestant);
  return status === expected ? [] : [`one answer is ${status} instead of ${expected}`];
}

/** A benchmark of wrong answers is worth nothing: every answer has to be of the expected class. */
function checkCounts(testCase: NamedCase, { contestant }: Subject, { requests, refused, socketErrors }: Load) {
  const expected = expectedStatus(testCase, contestant) < 400 ? 0 : requests;
  // In an outage peers may refuse good tokens, and that is a finding; every second request is one.
  const isWrong =
    testCase.name === 'outage'
      ? contestant.settings !== undefined && Math.abs(refused - requests / 2) > connections
      : refused !== expected;
  return [
    ...(isWrong ? [`${refused} of ${requests} answers are refusals`] : []),
    ...(requests === 0 ? ['no answers'] : []),
    ...(socketErrors > 0 ? [`${socketErrors} broken connections`] : []),
  ];
}

/** Checks one answer, warms up for a second, and measures; what is wrong is in the measurement's problems. */
export async function measure(
  testCase: NamedCase,
  subject: Subject,
  context: Context,
  seconds: number,
): Promise<Measurement> {
  const { contestant, server, sent } = subject;
  const { tokens, keySet } = context;
  const isOutage = testCase.name === 'outage';
  const fetchesBefore = keySet.fetches(contestant.name);
  const send = async (duration: number) => {
    const before = sent.get(testCase.name) ?? 0;
    const args = loadOf(testCase, tokens, before);
    const load = await runWrk({ url: server.url, seconds: duration, connections, args });
    sent.set(testCase.name, before + load.requests + connections);
    return load;
  };
  keySet.setDown(isOutage);
  try {
    const statusProblems = isOutage ? [] : await checkStatus(testCase, subject, context);
    await send(testCase.warmupSeconds ?? 1);
    const cpuBefore = server.cpuSeconds();
    const load = await send(seconds);
    const cpu = server.cpuSeconds() - cpuBefore;
    const problems = [...statusProblems, ...checkCounts(testCase, subject, load)];
    return {
      contestant: contestant.name,
      caseName: testCase.name,
      cpuMicroseconds: (cpu / load.requests) * 1e6,
      requestsPerSecond: load.requestsPerSecond,
      acceptedPerSecond: (load.requests - load.refused) / load.seconds,
      residentMebibytes: server.residentBytes() / 2 ** 20,
      keySetFetches: keySet.fetches(contestant.name) - fetchesBefore,
      problems: problems.map((problem) => `${contestant.label}, ${testCase.name}: ${problem}`),
    };
  } finally {
    keySet.setDown(false);
  }
}
