import { parseArgs } from 'node:util';
import { median } from 'simple-statistics';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine, table, writeSection } from './harness/machine.ts';
import { pinSelf, type ServerProcess } from './harness/server-process.ts';
import { startService } from './harness/service.ts';
import { type SlowClients, startSlowClients } from './harness/slow-clients.ts';
import { prepareTokens, type Tokens } from './harness/tokens.ts';
import { type Load, runWrk } from './harness/wrk.ts';

const usage = `Sends a mixed load at full speed and fails when memory or descriptors grow, or on a wrong status
  --minutes N   how long (30)
  --write       write a section of bench/results.md`;

interface Kind {
  readonly name: string;
  readonly connections: number;
  readonly status: string;
  readonly args: readonly string[];
}

const path = '/api/private';

const kindsOf = (tokens: Tokens): readonly Kind[] => [
  { name: 'public', connections: 8, status: '200', args: ['static', '/api/public'] },
  { name: 'one valid token', connections: 8, status: '200', args: ['static', path, `Bearer ${tokens.first('RS256')}`] },
  { name: '20,000 valid tokens', connections: 16, status: '200', args: ['rotate', path, tokens.file('RS256'), '0'] },
  { name: 'expired', connections: 8, status: '401', args: ['rotate', path, tokens.file('expired'), '0'] },
  { name: 'forged', connections: 8, status: '401', args: ['rotate', path, tokens.file('forged'), '0'] },
  { name: 'unknown kids', connections: 8, status: '401', args: ['unknown', path, tokens.file('unknown-kids'), '0'] },
  { name: 'token of 10 KiB', connections: 4, status: '401', args: ['rotate', path, tokens.file('long'), '0'] },
  { name: 'headers of 21 KiB', connections: 4, status: '431', args: ['rotate', path, tokens.file('huge'), '0'] },
];
const slowClientCount = 50;

interface Sample {
  readonly second: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** Reads memory and descriptors every second until told to stop. */
function startSampling(server: ServerProcess) {
  const samples: Sample[] = [];
  const start = performance.now();
  const take = () => {
    if (server.hasExited()) return;
    const second = (performance.now() - start) / 1000;
    samples.push({ second, residentBytes: server.residentBytes(), descriptors: server.openDescriptors() });
  };
  const timer = setInterval(take, 1000);
  return { samples, stop: () => clearInterval(timer) };
}

/** The median over a window: one garbage collection more or less says nothing about a leak. */
function around(samples: readonly Sample[], second: number, halfWidth: number) {
  const near = samples.filter((sample) => Math.abs(sample.second - second) <= halfWidth);
  return {
    residentBytes: median(near.map(({ residentBytes }) => residentBytes)),
    descriptors: median(near.map(({ descriptors }) => descriptors)),
  };
}

function findWrongStatuses(kinds: readonly Kind[], loads: readonly Load[], slow: SlowClients): string[] {
  const problems = kinds.flatMap(({ name, status }, place) =>
    Object.entries(loads[place]?.statuses ?? { none: 1 })
      .filter(([seen]) => seen !== status)
      .map(([seen, count]) => `${name}: ${count} answers with ${seen} instead of ${status}`),
  );
  // 408 is what a server may tell a client that it gives up on.
  const slowProblems = Object.entries(slow.statuses).filter(([seen]) => seen !== '200' && seen !== '408');
  return [...problems, ...slowProblems.map(([seen, count]) => `slow clients: ${count} answers with ${seen}`)];
}

/** Connections are closed by now: what is still open is a leak, save for a few of the service's own. */
async function readDescriptorsAfter(server: ServerProcess, before: number): Promise<number> {
  const deadline = Date.now() + 15_000;
  while (server.openDescriptors() > before && Date.now() < deadline) await Bun.sleep(200);
  return server.openDescriptors();
}

interface Outcome {
  readonly kinds: readonly Kind[];
  readonly loads: readonly Load[];
  readonly slow: SlowClients;
  readonly samples: readonly Sample[];
  readonly seconds: number;
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  readonly fetches: number;
  readonly isAlive: boolean;
}

async function run(seconds: number): Promise<Outcome> {
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const server = await startService({ jwksUri: keySet.uri('soak') });
  const descriptorsBefore = server.openDescriptors();
  const kinds = kindsOf(tokens);
  const sampling = startSampling(server);
  const slow = startSlowClients(Number(new URL(server.url).port), slowClientCount);
  const env = { COUNT_STATUSES: '1' };
  const loads = await Promise.all(
    kinds.map(({ connections, args }) => runWrk({ url: server.url, seconds, connections, env, args })),
  );
  sampling.stop();
  slow.stop();
  const isAlive = !server.hasExited();
  const descriptorsAfter = isAlive ? await readDescriptorsAfter(server, descriptorsBefore) : 0;
  await server.stop();
  await keySet.stop();
  const { samples } = sampling;
  const fetches = keySet.fetches('soak');
  return { kinds, loads, slow, samples, seconds, descriptorsBefore, descriptorsAfter, fetches, isAlive };
}

/** Returns what a run has to be judged by, beside its statuses. */
function measureGrowth({ samples, seconds }: Outcome) {
  const halfWidth = Math.max(2, seconds / 60);
  const early = around(samples, seconds / 6, halfWidth);
  const end = around(samples, seconds - halfWidth, halfWidth);
  // The cooldown is 30 s; one fetch is the start's, and another may fall on the end.
  return { early, end, ratio: end.residentBytes / early.residentBytes, mostFetches: 2 + Math.floor(seconds / 30) };
}

function findProblems(outcome: Outcome): string[] {
  const { isAlive, kinds, loads, slow, descriptorsBefore, descriptorsAfter, fetches } = outcome;
  const { ratio, mostFetches } = measureGrowth(outcome);
  return [
    ...(isAlive ? [] : ['the service has exited']),
    ...findWrongStatuses(kinds, loads, slow),
    ...(ratio <= 1.1 ? [] : [`resident memory at the end is ${ratio.toFixed(2)} times that after a sixth of the time`]),
    ...(descriptorsAfter <= descriptorsBefore + 4
      ? []
      : [`${descriptorsAfter - descriptorsBefore} descriptors leaked`]),
    ...(fetches <= mostFetches ? [] : [`the key set was fetched ${fetches} times instead of at most ${mostFetches}`]),
  ];
}

const listCounts = (statuses: Readonly<Record<string, number>>) =>
  Object.entries(statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ');
const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0);

function render(machine: string, outcome: Outcome, problems: readonly string[]): string {
  const { kinds, loads, slow, samples, seconds, descriptorsBefore, descriptorsAfter, fetches } = outcome;
  const { early, end, ratio, mostFetches } = measureGrowth(outcome);
  const peak = Math.max(...samples.map(({ residentBytes }) => residentBytes));
  const rows = kinds.map(({ name, connections, status }, place) => {
    const load = loads[place];
    return [name, String(connections), status, listCounts(load?.statuses ?? {}), String(load?.socketErrors)];
  });
  const slowRow = ['slow clients', String(slowClientCount), '200', listCounts(slow.statuses), String(slow.closed())];
  return `## ${seconds / 60} minutes of mixed load (\`bun run bench:soak\`)

${machine}

${table(['Load', 'connections', 'expected', 'answers', 'connections closed by the service'], [...rows, slowRow])}

Bun itself refuses more than 16 KiB of headers and closes; half of the slow clients never finish their headers, and are cut off.

- Resident memory: ${mebibytes(early.residentBytes)} MiB after a sixth of the time, ${mebibytes(end.residentBytes)} MiB at the end (${ratio.toFixed(2)} times), ${mebibytes(peak)} MiB at most
- Descriptors: ${descriptorsBefore} before, ${early.descriptors} after a sixth of the time, ${end.descriptors} at the end, ${descriptorsAfter} when the load had gone
- Key-set fetches: ${fetches}, at most ${mostFetches} allowed
- ${problems.length === 0 ? 'Passed' : `Failed: ${problems.join('; ')}`}
`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      write: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(usage);
  const machine = describeMachine();
  pinSelf(1);
  const outcome = await run(Math.round(Number(values.minutes) * 60));
  const problems = findProblems(outcome);
  const section = render(machine, outcome, problems);
  console.log(section);
  if (values.write) await writeSection('soak', section);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

await main();
