import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cases } from './harness/cases.ts';
import { contestants, serviceIn } from './harness/contestants.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import type { Measurement } from './harness/measure.ts';
import { writeSection } from './harness/results-page.ts';
import { runRound } from './harness/round.ts';
import { pinSelf } from './harness/server-process.ts';
import { startService } from './harness/service.ts';
import { prepareTokens } from './harness/tokens.ts';
import { renderComparison } from './report/page.ts';

const usage = `Measures the service and other servers, and writes a section of bench/results.md
  --rounds N    fresh processes of each server (4)
  --seconds N   measured part of a case, a whole number (1)
  --only A,B    these servers and the bare one: ${contestants.map(({ name }) => name).join(', ')}
  --cases 'A;B' these cases: ${cases.map(({ name }) => name).join('; ')}
  --other DIR   measure the service of another checkout as well; dependencies must be installed there
  --print       print the section instead of writing it
  --quick       one round, printed: verifies that everything works`;

/** A misspelt name must not silently skip a measurement. */
function choose<Named extends { readonly name: string }>(all: readonly Named[], wanted?: readonly string[]): Named[] {
  const unknown = wanted?.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) throw new Error(`Cannot find ${JSON.stringify(unknown)}`);
  return all.filter(({ name }) => name === 'bare' || (wanted?.includes(name) ?? true));
}

/** Returns what the service answers to the three requests that the equal server is sent, as JSON. */
async function readAnswers(jwksUri: string, token: string): Promise<string> {
  const server = await startService({ jwksUri });
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

function readFlags() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '4' },
      seconds: { type: 'string', default: '1' },
      only: { type: 'string' },
      other: { type: 'string' },
      cases: { type: 'string' },
      print: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    isHelp: values.help,
    isPrinted: values.print || values.quick,
    rounds: values.quick ? 1 : Number(values.rounds),
    seconds: Number(values.seconds),
    only: values.only?.split(','),
    others: values.other === undefined ? [] : [serviceIn(resolve(values.other))],
    cases: values.cases?.split(';').map((name) => name.trim()),
  };
}

async function main(): Promise<void> {
  const flags = readFlags();
  if (flags.isHelp) return console.log(usage);
  const machine = describeMachine();
  const chosen = [...choose(contestants, flags.only), ...flags.others].filter(({ label, program }) => {
    const isInstalled = Bun.which(program) !== null;
    if (!isInstalled) console.error(`Left out: ${label} (${program} is not installed)`);
    return isInstalled;
  });
  pinSelf(1);
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const context = { tokens, keySet, answers: await readAnswers(keySet.uri('answers'), tokens.first('RS256')) };

  const measurements: Measurement[] = [];
  for (let round = 0; round < flags.rounds; round += 1) {
    console.error(`Round ${round + 1} of ${flags.rounds}`);
    measurements.push(...(await runRound(round, chosen, choose(cases, flags.cases), context, flags.seconds)));
  }
  await keySet.stop();
  const { rounds, seconds } = flags;
  const section = await renderComparison({ machine, measurements, servers: chosen, rounds, seconds });
  if (flags.isPrinted) console.log(section);
  else writeSection('comparison', section);
  const problems = measurements.flatMap((one) => one.problems);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

await main();
