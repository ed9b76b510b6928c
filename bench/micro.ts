import { createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { importSPKI, jwtVerify } from 'jose';
import { createKeySet, type KeySet } from '../src/auth/key-set.ts';
import { createVerifier } from '../src/auth/verifier.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import { table, writeSection } from './harness/results-page.ts';
import { pinSelf } from './harness/server-process.ts';
import { executable, sourceCommand, startService } from './harness/service.ts';
import { type Summary, summarize } from './harness/statistics.ts';
import { audience, issuer, prepareTokens, type Tokens } from './harness/tokens.ts';

const usage = `Measures a verification, start-up and memory at rest, and writes a section of bench/results.md
  --samples N   of each figure (11)
  --print       print the section instead of writing it`;

interface Candidate {
  readonly label: string;
  readonly tokens: readonly Buffer[];
  /** True when the outcome is what it has to be for these tokens. */
  readonly run: (token: string) => boolean | Promise<boolean>;
}

const readLines = (file: string, count: number) =>
  readFileSync(file, 'latin1')
    .split('\n', count)
    .map((line) => Buffer.from(line, 'latin1'));

async function createCandidates(tokens: Tokens, keySet: KeySet): Promise<Candidate[]> {
  const options = { issuer, audience, keySet, clockToleranceSeconds: 0 };
  const remembering = createVerifier({ ...options, cacheSize: 10_000 });
  const forgetful = createVerifier({ ...options, cacheSize: 0 });
  const pem = readFileSync(tokens.publicKeyFile('RS256'), 'utf8');
  const joseKey = await importSPKI(pem, 'RS256');
  const nodeKey = createPublicKey(pem);

  const valid = readLines(tokens.file('RS256'), 2000);
  const forged = readLines(tokens.file('forged'), 2000);
  const verifyWithNode = (token: string) => {
    const dot = token.lastIndexOf('.');
    return verify('sha256', Buffer.from(token.slice(0, dot)), nodeKey, Buffer.from(token.slice(dot + 1), 'base64url'));
  };
  const verifyWithJose = (token: string) =>
    jwtVerify(token, joseKey, { issuer, audience, algorithms: ['RS256'] }).then(() => true);
  const accepts = async (verifier: typeof forgetful, token: string) => 'claims' in (await verifier.verify(token));
  const acceptsAtOnce = (token: string) => {
    const verdict = remembering.verify(token);
    return !(verdict instanceof Promise) && 'claims' in verdict;
  };
  for (const token of valid) await remembering.verify(token.toString('latin1'));

  return [
    { label: 'this service, token remembered', tokens: valid, run: acceptsAtOnce },
    { label: 'this service, token not remembered', tokens: valid, run: (token) => accepts(forgetful, token) },
    {
      label: 'this service, bad signature',
      tokens: forged,
      run: async (token) => !(await accepts(remembering, token)),
    },
    { label: 'jose jwtVerify', tokens: valid, run: verifyWithJose },
    { label: 'node:crypto verify, signature only', tokens: valid, run: verifyWithNode },
    { label: 'node:crypto verify, the same again', tokens: valid, run: verifyWithNode },
  ];
}

/** Waits for 64 verdicts at once, as many as the load has connections; those that come at once are not waited for. */
async function runAll({ label, tokens, run }: Candidate): Promise<void> {
  let pending: Promise<boolean>[] = [];
  const check = (isRight: boolean) => {
    if (!isRight) throw new Error(`Wrong outcome: ${label}`);
  };
  for (const bytes of tokens) {
    // A request brings a new string, whose hash nobody has computed yet.
    const outcome = run(bytes.toString('latin1'));
    if (typeof outcome === 'boolean') check(outcome);
    else if (pending.push(outcome) === 64) {
      check((await Promise.all(pending)).every(Boolean));
      pending = [];
    }
  }
  check((await Promise.all(pending)).every(Boolean));
}

async function sampleMicroseconds(candidate: Candidate, leastMs: number): Promise<number> {
  const start = Bun.nanoseconds();
  let calls = 0;
  while (Bun.nanoseconds() - start < leastMs * 1e6) {
    await runAll(candidate);
    calls += candidate.tokens.length;
  }
  return (Bun.nanoseconds() - start) / 1000 / calls;
}

async function measureVerification(tokens: Tokens, samples: number): Promise<string> {
  const server = startKeySetServer(tokens.jwks);
  const minute = 60_000;
  const times = { maxAgeMs: 10 * minute, maxStaleMs: 60 * minute, cooldownMs: minute, timeoutMs: 5000 };
  const keySet = createKeySet({ uri: server.uri('micro'), ...times });
  const candidates = await createCandidates(tokens, keySet);
  const figures = new Map<string, number[]>();
  // The first round warms up.
  for (let round = 0; round <= samples; round += 1) {
    for (const candidate of candidates) {
      const microseconds = await sampleMicroseconds(candidate, 100);
      if (round > 0) figures.set(candidate.label, [...(figures.get(candidate.label) ?? []), microseconds]);
    }
  }
  keySet.stop();
  await server.stop();
  const rows = candidates.map(({ label }) => [label, ...cells(summarize(figures.get(label) ?? []), 2)]);
  return table(['Microseconds', 'median', 'lowest', 'highest'], rows);
}

const cells = ({ median, min, max }: Summary, digits: number) =>
  [median, min, max].map((value) => value.toFixed(digits));

interface Start {
  readonly milliseconds: number;
  readonly mebibytes: number;
}

async function startOnce(command: readonly string[], jwksUri: string): Promise<Start> {
  const before = performance.now();
  const server = await startService({ jwksUri, command, readyPath: '/livez', pollMs: 1 });
  const milliseconds = performance.now() - before;
  await Bun.sleep(1000);
  const mebibytes = server.residentBytes() / 2 ** 20;
  await server.stop();
  return { milliseconds, mebibytes };
}

async function measureStart(tokens: Tokens, samples: number): Promise<string> {
  const forms = [
    { label: 'source (`bun run src/index.ts`)', command: sourceCommand },
    ...(existsSync(executable) ? [{ label: 'executable', command: [executable] }] : []),
  ];
  const keySet = startKeySetServer(tokens.jwks);
  const starts = new Map<string, Start[]>();
  for (let sample = 0; sample < samples; sample += 1)
    for (const { label, command } of forms)
      starts.set(label, [...(starts.get(label) ?? []), await startOnce(command, keySet.uri('start'))]);
  await keySet.stop();

  const rows = forms.map(({ label }) => {
    const all = starts.get(label) ?? [];
    const milliseconds = cells(summarize(all.map((start) => start.milliseconds)), 0);
    return [label, ...milliseconds, ...cells(summarize(all.map((start) => start.mebibytes)), 0)];
  });
  return table(['', 'ms to the first 200 on /livez', 'lowest', 'highest', 'MiB at rest', 'lowest', 'highest'], rows);
}

async function main(): Promise<void> {
  const options = {
    samples: { type: 'string', default: '11' },
    print: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const samples = Number(values.samples);
  const machine = describeMachine();
  const tokens = prepareTokens();
  // One core for the code and the threads of WebCrypto alike, as a server has it.
  pinSelf(0);
  const verification = await measureVerification(tokens, samples);
  pinSelf(1);
  const start = await measureStart(tokens, samples);
  const section = `## One verification, one start (\`bun run bench:micro\`)

${machine}
- Method: ${samples} samples of each, taken in turn, in one process on one core; 64 verifications under way where they are asynchronous. 2,000 tokens of some 800 bytes, RS256 with 2048 bits. The two last rows are the same code: their difference is that of the method.

${verification}

Start-up from the start of the process to the first 200, as a client on the other core sees it; resident memory a second later.

${start}
`;
  if (values.print) console.log(section);
  else writeSection('micro', section);
}

await main();
