import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { measureColdStarts } from './harness/cold-start.ts';
import { type Context, contestants, ours, serviceOf } from './harness/contestants.ts';
import { measureDoors, renderDoors } from './harness/doors.ts';
import { describeMachine, writePage } from './harness/machine.ts';
import { type Measurement, runRound } from './harness/measure.ts';
import { renderPage } from './harness/page.ts';
import { pinSelf, startContestant } from './harness/server-process.ts';
import { prepareTokens } from './harness/tokens.ts';
import type { Received, Responses } from './servers/environment.ts';

const usage = `Measures the service and other servers, and writes bench/results.md
  --rounds N    fresh processes of each server (4)
  --only A,B    these servers, and no doors: ${contestants.map(({ name }) => name).join(', ')}
  --doors       measure only the doors beside their peers, and print that part
  --other DIR   measure the service of another checkout as well; dependencies must be installed there
  --print       print the page instead of writing it`;

/** Returns the service's responses to the three requests that other servers are sent too. */
async function readResponses(context: Context): Promise<Responses> {
  const server = await startContestant(ours, context);
  const read = async (path: string, headers: Record<string, string> = {}): Promise<Received> => {
    const response = await fetch(server.url + path, { headers });
    const sent = [...response.headers].filter(([name]) => name !== 'date' && name !== 'content-length');
    return { status: response.status, body: (await response.json()) as Received['body'], headers: sent };
  };
  const responses = {
    public: await read('/api/public'),
    private: await read('/api/private', { authorization: `Bearer ${context.tokens.first}` }),
    rejection: await read('/api/private'),
  };
  await server.stop();
  return responses;
}

async function main(rounds: number, only?: readonly string[], other?: string) {
  const unknown = only?.find((name) => !contestants.some((one) => one.name === name));
  if (unknown !== undefined) throw new Error(`Cannot find ${JSON.stringify(unknown)}`);
  const servers = [
    ...contestants.filter(({ name }) => only?.includes(name) ?? true),
    ...(other === undefined ? [] : [serviceOf(resolve(other))]),
  ];
  const machine = describeMachine();
  pinSelf(1);
  const tokens = prepareTokens();
  // Idle, it takes nothing from the load generator's core.
  const keySet = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(tokens.jwks) });
  const service = { tokens, jwksUri: keySet.url.href };
  if (flags.doors) {
    const doors = await measureDoors(rounds, service);
    console.log(renderDoors(doors));
    return doors.flatMap(({ problems }) => problems);
  }
  const context = { ...service, responses: await readResponses(service) };

  const measurements: Measurement[] = [];
  for (let round = 0; round < rounds; round += 1) {
    console.error(`Round ${round + 1} of ${rounds}`);
    // A process that starts later is placed elsewhere in memory.
    measurements.push(...(await runRound(round % 2 === 0 ? servers : servers.toReversed(), context)));
  }
  const doors = only ? [] : await measureDoors(rounds, service);
  await keySet.stop(true);
  console.error('Cold starts');
  const starts = await measureColdStarts(rounds * 5);
  const page = renderPage(machine, measurements, servers, rounds, starts, doors);
  if (flags.print) console.log(page);
  else await writePage(page);
  return [...measurements, ...doors].flatMap(({ problems }) => problems);
}

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    only: { type: 'string' },
    other: { type: 'string' },
    doors: { type: 'boolean' },
    print: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
// An interrupted benchmark must not leave servers behind that spoil the next one: they end with this process, if it
// exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

if (flags.help) console.log(usage);
else {
  const problems = await main(Number(flags.rounds), flags.only?.split(','), flags.other);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
