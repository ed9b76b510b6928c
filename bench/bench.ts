import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { caseNames } from './harness/cases.ts';
import { contestants, serviceIn } from './harness/contestants.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine, writeSection } from './harness/machine.ts';
import { type Measurement, runRound } from './harness/measure.ts';
import { renderPage } from './harness/page.ts';
import { pinSelf } from './harness/server-process.ts';
import { startService } from './harness/service.ts';
import { prepareTokens } from './harness/tokens.ts';

const usage = `Measures the service and other servers, and writes a section of bench/results.md
  --rounds N    fresh processes of each server (3)
  --only A,B    these servers: ${contestants.map(({ name }) => name).join(', ')}
  --cases 'A;B' these cases: ${caseNames.join('; ')}
  --other DIR   measure the service of another checkout as well; dependencies must be installed there
  --print       print the section instead of writing it`;

/** A misspelt name must not silently skip a measurement. */
function choose<Item>(all: readonly Item[], nameOf: (item: Item) => string, wanted?: readonly string[]): Item[] {
  const unknown = wanted?.find((name) => !all.some((one) => nameOf(one) === name));
  if (unknown !== undefined) throw new Error(`Cannot find ${JSON.stringify(unknown)}`);
  return all.filter((one) => wanted?.includes(nameOf(one)) ?? true);
}

/** Returns what the service answers to the three requests that the equal server is sent, as JSON. */
async function readAnswers(jwksUri: string, token: string): Promise<string> {
  const server = await startService(jwksUri);
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, { headers });
    const sent = [...response.headers].filter(([name]) => name !== 'date' && name !== 'content-length');
    return { status: response.status, body: await response.json(), headers: sent };
  };
  const answers = {
    public: await read('/api/public'),
    private: await read('/api/private', { authorization: `Bearer ${token}` }),
    refusal: await read('/api/private'),
  };
  await server.stop();
  return JSON.stringify(answers);
}

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    other: { type: 'string' },
    cases: { type: 'string' },
    print: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const machine = describeMachine();
  const chosen = choose(contestants, ({ name }) => name, flags.only?.split(','));
  const all = [...chosen, ...(flags.other === undefined ? [] : [serviceIn(resolve(flags.other))])];
  const servers = all.filter(({ label, program }) => {
    const isInstalled = Bun.which(program) !== null;
    if (!isInstalled) console.error(`Left out: ${label} (${program} is not installed)`);
    return isInstalled;
  });
  const names = choose(caseNames, (name) => name, flags.cases?.split(';'));
  pinSelf(1);
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const context = { tokens, keySet, answers: await readAnswers(keySet.uri('answers'), tokens.first('RS256')) };

  const rounds = Number(flags.rounds);
  const measurements: Measurement[] = [];
  for (let round = 0; round < rounds; round += 1) {
    console.error(`Round ${round + 1} of ${rounds}`);
    const subjects = servers.filter(({ isPeer }) => round === 0 || !isPeer);
    measurements.push(...(await runRound(subjects, names, context)));
  }
  await keySet.stop();
  const section = renderPage({ machine, measurements, servers, names, rounds });
  if (flags.print) console.log(section);
  else await writeSection('bench', section);
  const problems = measurements.flatMap((one) => one.problems);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

if (flags.help) console.log(usage);
else await main();
