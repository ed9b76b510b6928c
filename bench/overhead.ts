import { parseArgs } from 'node:util';
import { type Case, cases } from './harness/cases.ts';
import { type KeySetServer, startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import { table, writeSection } from './harness/results-page.ts';
import { freePort, pinSelf, type ServerProcess } from './harness/server-process.ts';
import { startService } from './harness/service.ts';
import { ratios, type Summary, summarize } from './harness/statistics.ts';
import { prepareTokens, type Tokens } from './harness/tokens.ts';
import { type Load, runWrk } from './harness/wrk.ts';

const usage = `Measures what metrics and logs cost a request, and two processes against one; writes a section of bench/results.md
  --rounds N    fresh processes of each kind (10)
  --slices N    seconds a case takes in a round, each kind in turn (4)
  --print       print the section instead of writing it`;

interface Context {
  readonly tokens: Tokens;
  readonly keySet: KeySetServer;
}

interface Flags {
  readonly rounds: number;
  readonly slices: number;
}

const watched = cases.filter(({ name }) => name === 'public' || name === 'one valid token');
// Not the 20,000 tokens: two processes have two caches, so that their hits would be taken for speed.
const shared = cases.filter(({ name }) => ['public', 'one valid token', 'bad signature'].includes(name));
const kinds = ['on', 'off', 'off again'] as const;
type Kind = (typeof kinds)[number];

const settingsOf = async (kind: Kind) =>
  kind === 'on' ? { METRICS_PORT: String(await freePort()), LOG_LEVEL: 'info' } : { LOG_LEVEL: 'silent' };

/** CPU time a request, over slices in which the kinds take turns: the machine's mood changes more slowly than that. */
async function measureCost(testCase: Case, servers: ReadonlyMap<Kind, ServerProcess>, tokens: Tokens, slices: number) {
  const spent = new Map<Kind, { seconds: number; requests: number }>();
  for (let slice = 0; slice <= slices; slice += 1) {
    for (const [kind, server] of servers) {
      const before = server.cpuSeconds();
      const { requests } = await runWrk({ url: server.url, seconds: 1, args: testCase.load(tokens, 0) });
      const seconds = server.cpuSeconds() - before;
      const sum = spent.get(kind) ?? { seconds: 0, requests: 0 };
      // The first slice warms up.
      if (slice > 0) spent.set(kind, { seconds: sum.seconds + seconds, requests: sum.requests + requests });
    }
  }
  return (kind: Kind) => ((spent.get(kind)?.seconds ?? 0) / (spent.get(kind)?.requests ?? 0)) * 1e6;
}

/** The goal is a factor of 1.05; a median as near to it as the same server is to itself decides nothing. */
function costVerdict(cost: number, own: Summary): string {
  const spread = Math.max(own.max, 1 / own.min);
  const word = cost <= 1.05 ? 'met' : 'not met';
  return Math.max(cost / 1.05, 1.05 / cost) > spread ? word : `${word}, within the spread`;
}

/** The goal is a factor of 1.7, in this machine's requests per second if wrk leaves room for it. */
function scalingVerdict(byWall: number, byCpu: number): string {
  if (byWall >= 1.7) return 'met';
  return byCpu >= 1.7 ? 'met by CPU time only' : 'not met';
}

async function measureObservation({ tokens, keySet }: Context, { rounds, slices }: Flags): Promise<string> {
  const costs = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    console.error(`Round ${round + 1} of ${rounds}`);
    const servers = new Map<Kind, ServerProcess>();
    // Who starts and who is measured first changes from round to round.
    for (const kind of [...kinds.slice(round % 3), ...kinds.slice(0, round % 3)])
      servers.set(kind, await startService({ jwksUri: keySet.uri('overhead'), settings: await settingsOf(kind) }));
    for (const testCase of watched) {
      const cost = await measureCost(testCase, servers, tokens, slices);
      for (const kind of kinds) {
        const key = `${testCase.name} ${kind}`;
        costs.set(key, [...(costs.get(key) ?? []), cost(kind)]);
      }
    }
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }

  const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`;
  const rows = watched.map(({ name }) => {
    const [on = [], off = [], again = []] = kinds.map((kind) => costs.get(`${name} ${kind}`));
    const cost = summarize(ratios(on, off));
    const own = summarize(ratios(again, off));
    const range = ({ median, min, max }: typeof cost) => `${percent(median)} (${percent(min)}..${percent(max)})`;
    const [offCost, onCost] = [off, on].map((values) => summarize(values).median.toFixed(2));
    return [name, offCost ?? '', onCost ?? '', range(cost), range(own), costVerdict(cost.median, own)];
  });
  return table(['', 'off, µs', 'on, µs', 'on / off', 'off again / off', 'at most 5 %'], rows);
}

interface Shared {
  readonly load: Load;
  readonly cpuSeconds: number;
}

async function measureTogether(
  testCase: Case,
  servers: readonly ServerProcess[],
  tokens: Tokens,
  seconds: number,
): Promise<Shared> {
  const [first] = servers;
  if (!first) throw new TypeError('There must be a server');
  const total = () => servers.reduce((sum, server) => sum + server.cpuSeconds(), 0);
  // The kernel deals connections out by chance, so there have to be many for the processes to get alike shares.
  const options = { url: first.url, connections: 256, cores: servers.length === 1 ? '1' : '0,1' };
  const sent = await runWrk({ ...options, seconds: 1, args: testCase.load(tokens, 0) });
  const before = total();
  const load = await runWrk({ ...options, seconds, args: testCase.load(tokens, sent.requests) });
  return { load, cpuSeconds: total() - before };
}

async function measureSharedPort({ tokens, keySet }: Context, { rounds, slices }: Flags): Promise<string> {
  const results = new Map<string, Shared[]>();
  for (let round = 0; round < Math.ceil(rounds / 2); round += 1) {
    const port = await freePort();
    const start = (core: number) =>
      startService({ jwksUri: keySet.uri('shared'), settings: { REUSE_PORT: 'true' }, port, core });
    const servers = [await start(0)];
    for (const count of [1, 2]) {
      if (count === 2) servers.push(await start(1));
      // The first process answers for the second while that one starts.
      await Bun.sleep(1000);
      for (const testCase of shared) {
        const key = `${testCase.name} ${count}`;
        results.set(key, [...(results.get(key) ?? []), await measureTogether(testCase, servers, tokens, slices)]);
      }
    }
    await Promise.all(servers.map((server) => server.stop()));
  }

  const rows = shared.map(({ name }) => {
    const [one = [], two = []] = [1, 2].map((count) => results.get(`${name} ${count}`));
    const rate = ({ load }: Shared) => load.requestsPerSecond;
    const efficiency = ({ load, cpuSeconds }: Shared) => load.requests / cpuSeconds;
    const wall = summarize(ratios(two.map(rate), one.map(rate)));
    const cpu = summarize(ratios(two.map(efficiency), one.map(efficiency)));
    const busy = summarize(two.map(({ load }) => load.generatorBusy / 2));
    const range = ({ median, min, max }: typeof wall) => `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`;
    return [
      name,
      range(wall),
      `${(busy.median * 100).toFixed(0)} %`,
      range(cpu),
      (2 * cpu.median).toFixed(2),
      scalingVerdict(wall.median, 2 * cpu.median),
    ];
  });
  const header = [
    '',
    'requests per second, two / one',
    'of both cores taken by wrk',
    'requests per CPU second, two / one',
  ];
  return table([...header, 'two / one if wrk took nothing', 'at least 1.70'], rows);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '10' },
      slices: { type: 'string', default: '4' },
      print: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(usage);
  const machine = describeMachine();
  pinSelf(1);
  const flags = { rounds: Number(values.rounds), slices: Number(values.slices) };
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const observation = await measureObservation({ tokens, keySet }, flags);
  const sharedPort = await measureSharedPort({ tokens, keySet }, flags);
  await keySet.stop();

  const section = `## What watching costs, and two processes on one port (\`bun run bench:overhead\`)

${machine}

CPU time of the server for a request: with METRICS_PORT set and LOG_LEVEL=info, and with neither metrics nor logs. ${flags.rounds} fresh processes of each kind, ${flags.slices} s for a case, the kinds taking turns second by second. The last column is the method's own spread: the same server twice.

${observation}

REUSE_PORT: one process on core 0 with wrk on core 1, against two processes, one on each core, with wrk wherever there is room, 256 connections. wrk takes its share of the same two cores, so the requests per second cannot double here; the requests for each second of the servers' own CPU time tell what two cores of their own would give.

${sharedPort}
`;
  if (values.print) console.log(section);
  else writeSection('overhead', section);
}

await main();
