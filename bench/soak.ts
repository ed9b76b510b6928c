import { parseArgs } from 'node:util';
import { median } from 'simple-statistics';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine, table, writeSection } from './harness/machine.ts';
import { pinSelf, type ServerProcess } from './harness/server-process.ts';
import { startService } from './harness/service.ts';
import { startSlowClients } from './harness/slow-clients.ts';
import { prepareTokens, type Tokens } from './harness/tokens.ts';
import { runWrk } from './harness/wrk.ts';

// Sends a mixed load at full speed, and fails when memory or descriptors grow, or on a wrong status.

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
}

/** Reads memory every second until told to stop. */
function startSampling(server: ServerProcess) {
  const samples: Sample[] = [];
  const start = performance.now();
  const take = () => {
    if (server.hasExited()) return;
    const second = (performance.now() - start) / 1000;
    samples.push({ second, residentBytes: server.residentBytes() });
  };
  const timer = setInterval(take, 1000);
  return { samples, stop: () => clearInterval(timer) };
}

/** Connections are closed by now: what is still open is a leak, save for a few of the service's own. */
async function readDescriptorsAfter(server: ServerProcess, before: number): Promise<number> {
  const deadline = Date.now() + 15_000;
  while (server.openDescriptors() > before && Date.now() < deadline) await Bun.sleep(200);
  return server.openDescriptors();
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

/** Returns the table of what was answered, and a line for each promise with whether it was kept. */
async function run(seconds: number) {
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const server = await startService(keySet.uri('soak'));
  const before = server.openDescriptors();
  const sampling = startSampling(server);
  const slow = startSlowClients(Number(new URL(server.url).port), slowClientCount);
  const env = { COUNT_STATUSES: '1' };
  const loads = await Promise.all(
    kindsOf(tokens).map(async (kind) => ({ ...kind, ...(await runWrk({ ...kind, url: server.url, seconds, env })) })),
  );
  sampling.stop();
  slow.stop();
  const isAlive = !server.hasExited();
  const after = isAlive ? await readDescriptorsAfter(server, before) : 0;
  await server.stop();
  await keySet.stop();

  // The median over a window: one garbage collection more or less says nothing about a leak.
  const halfWidth = Math.max(2, seconds / 60);
  const [early, end] = [seconds / 6, seconds - halfWidth].map((second) =>
    median(
      sampling.samples.filter((one) => Math.abs(one.second - second) <= halfWidth).map((one) => one.residentBytes),
    ),
  ) as [number, number];
  // The cooldown is 30 s; one fetch is the start's, and another may fall on the end.
  const [fetches, mostFetches] = [keySet.fetches('soak'), 2 + Math.floor(seconds / 30)];
  // 408 is what a server may tell a client that it gives up on.
  const answered = [
    ...loads.map(({ name, status, statuses }) => ({ name, statuses, expected: [status] })),
    { name: 'slow clients', statuses: slow.statuses, expected: ['200', '408'] },
  ];
  const wrong = answered.filter(({ statuses, expected }) => {
    const seen = Object.keys(statuses);
    return seen.length === 0 || seen.some((status) => !expected.includes(status));
  });
  const promises: readonly (readonly [kept: boolean, text: string])[] = [
    [isAlive, 'the service has not exited'],
    [
      wrong.length === 0,
      `answers with another status than expected: ${wrong.map(({ name }) => name).join() || 'none'}`,
    ],
    [
      end / early <= 1.1,
      `resident memory: ${mebibytes(early)} after a sixth of the time, ${mebibytes(end)} at the end`,
    ],
    [after <= before + 4, `descriptors: ${before} before, ${after} when the load had gone`],
    [fetches <= mostFetches, `key-set fetches: ${fetches}, at most ${mostFetches} allowed`],
  ];
  const counts = (statuses: Readonly<Record<string, number>>) =>
    Object.entries(statuses)
      .map((entry) => entry.join(': '))
      .join(', ');
  const rows = [
    ...loads.map((load) => [load.name, load.connections, load.status, counts(load.statuses), load.socketErrors]),
    ['slow clients', slowClientCount, '200', counts(slow.statuses), slow.closed()],
  ].map((row) => row.map(String));
  const header = ['Load', 'connections', 'expected', 'answers', 'connections closed by the service'];
  return { page: table(header, rows), promises };
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' }, write: { type: 'boolean' } } });
const machine = describeMachine();
pinSelf(1);
const { page, promises } = await run(Math.round(Number(values.minutes) * 60));
const section = `## ${values.minutes} minutes of mixed load (\`bun run bench:soak\`)

${machine}

${page}

Bun itself refuses more than 16 KiB of headers and closes; half of the slow clients never finish their headers, and are cut off.

${promises.map(([kept, text]) => `- ${kept ? 'Kept' : 'BROKEN'}: ${text}`).join('\n')}
`;
console.log(section);
if (values.write) await writeSection('soak', section);
process.exitCode = promises.every(([kept]) => kept) ? 0 : 1;
