import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Case, type CaseName, cases, loadOf } from './harness/cases.ts';
import { type KeySetServer, startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import { table, writeSection } from './harness/results-page.ts';
import { freePort, pinSelf, type ServerProcess } from './harness/server-process.ts';
import { startService } from './harness/service.ts';
import { median, ratios, summarize } from './harness/statistics.ts';
import { prepareTokens, type Tokens } from './harness/tokens.ts';
import { type Load, runWrk } from './harness/wrk.ts';

const usage = `Measures what a second core gives, and writes a section of bench/results.md
  --rounds N    of each measurement (5)
  --seconds N   of each load (2)
  --print       print the section instead of writing it`;

const inFlight = 64;
const batches = 150;

interface Verification {
  /** From one verification to the next. */
  readonly wall: number;
  /** CPU time of the thread that runs JavaScript, and of all other threads. */
  readonly main: number;
  readonly pool: number;
}

function threadMicroseconds(): { readonly main: number; readonly all: number } {
  const read = (thread: string | number) =>
    Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  const all = readdirSync('/proc/self/task').reduce((sum, thread) => sum + read(thread), 0);
  return { main: read(process.pid), all };
}

/** Runs in a process of its own, on the cores that it was started on. */
async function verifyInFlight(): Promise<Verification> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const size = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  const keys = await crypto.subtle.generateKey({ ...algorithm, ...size }, false, ['sign', 'verify']);
  const data = crypto.getRandomValues(new Uint8Array(450));
  const signature = await crypto.subtle.sign(algorithm, keys.privateKey, data);
  const verifyBatch = () =>
    Promise.all(
      Array.from({ length: inFlight }, () => crypto.subtle.verify(algorithm, keys.publicKey, signature, data)),
    );
  for (let batch = 0; batch < batches / 2; batch += 1) await verifyBatch();
  const before = threadMicroseconds();
  const start = performance.now();
  for (let batch = 0; batch < batches; batch += 1) await verifyBatch();
  const wall = (performance.now() - start) * 1000;
  const after = threadMicroseconds();
  const main = after.main - before.main;
  const each = (total: number) => total / (batches * inFlight);
  return { wall: each(wall), main: each(main), pool: each(after.all - before.all - main) };
}

/** Verifies on these cores, in several processes at once if there are several lists. */
function runVerifications(...coreLists: readonly string[]): Promise<Verification[]> {
  return Promise.all(
    coreLists.map(async (cores) => {
      const child = Bun.spawn(['taskset', '-c', cores, process.execPath, import.meta.path, '--verify'], {
        stdout: 'pipe',
      });
      return JSON.parse(await child.stdout.text());
    }),
  );
}

async function measureVerifications(rounds: number): Promise<string> {
  const kinds = {
    'one process on core 0': ['0'],
    'one process on cores 0 and 1': ['0,1'],
    'two processes at once, a core each': ['0', '1'],
  };
  const results = new Map<string, Verification[]>();
  for (let round = 0; round < rounds; round += 1)
    for (const [kind, cores] of Object.entries(kinds))
      results.set(kind, [...(results.get(kind) ?? []), ...(await runVerifications(...cores))]);
  const rows = [...results].map(([kind, all]) => [
    kind,
    ...(['wall', 'main', 'pool'] as const).map((member) => {
      const { median: middle, min, max } = summarize(all.map((one) => one[member]));
      return `${middle.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`;
    }),
  ]);
  return table(
    ['µs per verification, in each process', 'elapsed', 'CPU, JavaScript thread', 'CPU, other threads'],
    rows,
  );
}

interface Shared {
  readonly load: Load;
  readonly cpuSeconds: number;
}

const shared: readonly CaseName[] = ['public', 'one token', 'bad signature'];

async function loadTogether(testCase: Case, servers: readonly ServerProcess[], tokens: Tokens, seconds: number) {
  const total = () => servers.reduce((sum, server) => sum + server.cpuSeconds(), 0);
  // The kernel assigns connections at random: there have to be many for the processes to get similar shares.
  const options = { url: servers[0]?.url ?? '', connections: 256, cores: servers.length === 1 ? '1' : '0,1' };
  const warmUp = await runWrk({ ...options, seconds: 1, args: loadOf(testCase, tokens, 0) });
  const before = total();
  const load = await runWrk({ ...options, seconds, args: loadOf(testCase, tokens, warmUp.requests) });
  return { load, cpuSeconds: total() - before };
}

async function measureSharedPort(tokens: Tokens, keySet: KeySetServer, rounds: number, seconds: number) {
  const results = new Map<string, Shared[]>();
  const chosen = cases.filter(({ name }) => shared.includes(name));
  for (let round = 0; round < rounds; round += 1) {
    const port = await freePort();
    const start = (core: number) =>
      startService({ jwksUri: keySet.uri('shared'), settings: { REUSE_PORT: 'true' }, port, core });
    const servers = [await start(0)];
    for (const count of [1, 2]) {
      if (count === 2) servers.push(await start(1));
      // The first process answers for the second while that one starts.
      await Bun.sleep(1000);
      for (const testCase of chosen) {
        const key = `${testCase.name} ${count}`;
        results.set(key, [...(results.get(key) ?? []), await loadTogether(testCase, servers, tokens, seconds)]);
      }
    }
    await Promise.all(servers.map((server) => server.stop()));
  }
  const rows = shared.map((name) => {
    const [one = [], two = []] = [1, 2].map((count) => results.get(`${name} ${count}`));
    const rate = ({ load }: Shared) => load.requestsPerSecond;
    const efficiency = ({ load, cpuSeconds }: Shared) => load.requests / cpuSeconds;
    const cell = (figure: (result: Shared) => number) => {
      const { median: middle, min, max } = summarize(ratios(two.map(figure), one.map(figure)));
      return `${middle.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
    };
    const busy = median(two.map(({ load }) => load.generatorBusy / 2));
    return [name, cell(rate), `${(busy * 100).toFixed(0)} %`, cell(efficiency)];
  });
  const header = ['two / one', 'requests per second', 'both cores taken by wrk', 'requests per second of CPU time'];
  return table(header, rows);
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    print: { type: 'boolean' },
    verify: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help) console.log(usage);
else if (values.verify) console.log(JSON.stringify(await verifyInFlight()));
else {
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const machine = describeMachine();
  const tokens = prepareTokens();
  const verifications = await measureVerifications(rounds);
  pinSelf(1);
  const keySet = startKeySetServer(tokens.jwks);
  const sharedPort = await measureSharedPort(tokens, keySet, rounds, seconds);
  await keySet.stop();
  const section = `## What a second core gives (\`bun run bench:cores\`)

${machine}

RS256 by \`crypto.subtle.verify\`, ${inFlight} in flight. Bun verifies in threads of a pool, so one process can use more than one core. If two processes that share nothing slow each other down as well, the machine is the limit: virtual cores are often two threads of one core, or share its power.

${verifications}

REUSE_PORT: one process on core 0 with wrk on core 1, against two processes, one on each core, with wrk on both, 256 connections. wrk takes its share of the same two cores, so the requests per second cannot double here.

${sharedPort}
`;
  if (values.print) console.log(section);
  else writeSection('cores', section);
}
