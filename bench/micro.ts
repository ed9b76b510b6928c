import { createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compactVerify, importSPKI } from 'jose';
import { createLog } from '../src/observe/log.ts';
import { createService } from '../src/service.ts';
import { readSettings } from '../src/settings.ts';
import { type KeySetServer, startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import { table, writeSection } from './harness/results-page.ts';
import { pinSelf } from './harness/server-process.ts';
import { executable, sourceCommand, startService } from './harness/service.ts';
import { quantile } from './harness/statistics.ts';
import { audience, issuer, prepareTokens, type TokenFile, type Tokens } from './harness/tokens.ts';

const usage = `Measures single steps in loops, start-up and memory at rest, and writes a section of bench/results.md
  --samples N   of each step (200); start-up and memory take a tenth of that
  --print       print the section instead of writing it`;

/** A step that is repeated: `prepare` makes what it takes, outside of the measured part. */
interface Step {
  readonly label: string;
  readonly batch: number;
  readonly prepare: (index: number) => () => unknown;
}

type Bytes = Uint8Array<ArrayBuffer>;

const inFlight = 64;

async function startInProcess(tokens: Tokens, keySet: KeySetServer, settings: Readonly<Record<string, string>> = {}) {
  const environment = { ISSUER: issuer, AUDIENCE: audience, JWKS_URI: keySet.uri('micro'), ...settings };
  const log = createLog('silent', { isTerminal: false, hasColour: false });
  const service = createService({ settings: readSettings(environment, false), log, droppedLogLines: () => 0 });
  const authorization = `Bearer ${tokens.first('RS256')}`;
  const { status } = await service.fetch(new Request('http://localhost/api/private', { headers: { authorization } }));
  if (status !== 200) throw new Error(`Cannot get a valid token accepted: ${status}`);
  return service;
}

type InProcess = Awaited<ReturnType<typeof startInProcess>>;

async function createSteps(tokens: Tokens, keySet: KeySetServer): Promise<Step[]> {
  const lines = (file: TokenFile) => readFileSync(tokens.file(file), 'latin1').split('\n').slice(0, 2000);
  const [valid, forged] = [lines('RS256'), lines('forged')];
  const requestStep = (label: string, service: InProcess, path: string, token?: (index: number) => string): Step => ({
    label,
    batch: token && token(0) !== token(1) ? 256 : 2000,
    prepare(index) {
      const headers = token ? { authorization: `Bearer ${token(index)}` } : {};
      const request = new Request(`http://localhost${path}`, { headers });
      return () => service.fetch(request);
    },
  });
  const service = await startInProcess(tokens, keySet);
  const observed = await startInProcess(tokens, keySet, { METRICS_PORT: '1' });
  const cold = await startInProcess(tokens, keySet, { TOKEN_CACHE_SIZE: '0' });
  const [open, guarded] = ['/api/public', '/api/private'];
  const one = () => tokens.first('RS256');
  const first = one();
  const unknown = Array.from({ length: 5000 }, () => tokens.unknownKid());
  const of = (list: readonly string[]) => (index: number) => list[index % list.length] ?? '';

  const pem = readFileSync(tokens.publicKeyFile('RS256'), 'utf8');
  const [key, nodeKey] = [await importSPKI(pem, 'RS256'), createPublicKey(pem)];
  const split = valid.map((token) => {
    const dot = token.lastIndexOf('.');
    const [signed, signature] = [Buffer.from(token.slice(0, dot)), Buffer.from(token.slice(dot + 1), 'base64url')];
    return { signed: new Uint8Array(signed), signature: new Uint8Array(signature) };
  });
  const signatureStep = (label: string, run: (signed: Bytes, signature: Bytes) => unknown): Step => ({
    label,
    batch: 256,
    prepare(index) {
      const { signed, signature } = split[index % split.length] ?? {
        signed: new Uint8Array(),
        signature: new Uint8Array(),
      };
      return () => run(signed, signature);
    },
  });
  return [
    { label: 'Response.json alone', batch: 2000, prepare: () => () => Response.json({ message: 'Hello' }) },
    requestStep('public', service, open),
    requestStep('public, with metrics', observed, open),
    requestStep('one token', service, guarded, () => first),
    requestStep('one token, with metrics', observed, guarded, () => first),
    requestStep('no header', service, guarded),
    requestStep('unknown kid', service, guarded, of(unknown)),
    requestStep('bad signature', service, guarded, of(forged)),
    requestStep('token that is not cached', cold, guarded, of(valid)),
    { label: 'jose compactVerify', batch: 256, prepare: (index) => () => compactVerify(of(valid)(index), key) },
    signatureStep('crypto.subtle.verify', (signed, signature) =>
      crypto.subtle.verify('RSASSA-PKCS1-v1_5', key, signature, signed),
    ),
    signatureStep('node:crypto verify', (signed, signature) => verify('sha256', signed, nodeKey, signature)),
    signatureStep('node:crypto verify, again', (signed, signature) => verify('sha256', signed, nodeKey, signature)),
  ];
}

/** CPU time of all threads for a run of the step, with 64 under way where it is asynchronous. */
async function sample({ batch, prepare }: Step, round: number): Promise<number> {
  const runs = Array.from({ length: batch }, (_, index) => prepare(index + round * batch));
  const before = process.cpuUsage();
  let pending: unknown[] = [];
  for (const run of runs) {
    const outcome = run();
    if (!(outcome instanceof Promise) || pending.push(outcome) < inFlight) continue;
    await Promise.all(pending);
    pending = [];
  }
  await Promise.all(pending);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / batch;
}

async function measureSteps(tokens: Tokens, samples: number): Promise<string> {
  const keySet = startKeySetServer(tokens.jwks);
  const steps = await createSteps(tokens, keySet);
  const figures = new Map<string, number[]>(steps.map(({ label }) => [label, []]));
  // All steps in turn, so that a disturbance meets all of them. The first quarter warms up.
  for (let round = 0; round < samples; round += 1)
    for (const step of steps) {
      const microseconds = await sample(step, round);
      if (round >= samples / 4) figures.get(step.label)?.push(microseconds);
    }
  await keySet.stop();
  const rows = [...figures].map(([label, values]) => [
    label,
    ...[0.1, 0.5, 0.9].map((share) => quantile(values, share).toFixed(2)),
  ]);
  return table(['CPU time, µs', 'tenth percentile', 'median', 'ninetieth'], rows);
}

async function measureStart(tokens: Tokens, samples: number): Promise<string> {
  const forms = [
    { label: 'source (`bun run src/index.ts`)', command: sourceCommand },
    ...(existsSync(executable) ? [{ label: 'executable', command: [executable] }] : []),
  ];
  const keySet = startKeySetServer(tokens.jwks);
  const rows: string[][] = [];
  for (const { label, command } of forms) {
    const [milliseconds, mebibytes]: [number[], number[]] = [[], []];
    for (let round = 0; round < samples; round += 1) {
      const before = performance.now();
      const server = await startService({ jwksUri: keySet.uri('start'), command, readyPath: '/livez', pollMs: 1 });
      milliseconds.push(performance.now() - before);
      await Bun.sleep(1000);
      mebibytes.push(server.residentBytes() / 2 ** 20);
      await server.stop();
    }
    rows.push([label, ...[milliseconds, mebibytes].map((values) => quantile(values, 0.5).toFixed(0))]);
  }
  await keySet.stop();
  return table(['Medians', 'ms to the first 200 on /livez', 'MiB at rest'], rows);
}

const { values } = parseArgs({
  options: { samples: { type: 'string', default: '200' }, print: { type: 'boolean' }, help: { type: 'boolean' } },
});
if (values.help) console.log(usage);
else {
  const samples = Number(values.samples);
  const machine = describeMachine();
  const tokens = prepareTokens();
  // One core for the code and the threads of WebCrypto alike, as a server has it.
  pinSelf(0);
  const steps = await measureSteps(tokens, samples);
  pinSelf(1);
  const start = await measureStart(tokens, Math.ceil(samples / 20));
  const section = `## Single steps (\`bun run bench:micro\`)

${machine}
- Method: loops in one process on one core over the service's \`fetch\` with real Requests, which are made before; CPU time of all threads. All steps in turn, ${samples} samples. The last two rows are the same code: their difference is that of the method, and differences of 0.1 µs between the others show in the tenth percentile.

${steps}

${start}
`;
  if (values.print) console.log(section);
  else writeSection('micro', section);
  process.exit();
}
