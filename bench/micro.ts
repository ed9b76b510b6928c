import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { compactVerify, importSPKI } from 'jose';
import { checkOptions } from '../src/auth/options.ts';
import { createVerifier } from '../src/auth/token/verifier.ts';
import { createLog } from '../src/observe/log.ts';
import { createService } from '../src/service.ts';
import { readSettings } from '../src/settings.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { measureSteps, type Step } from './harness/loop.ts';
import { describeMachine, writeSection } from './harness/machine.ts';
import { pinSelf } from './harness/server-process.ts';
import { audience, issuer, prepareTokens, type TokenFile } from './harness/tokens.ts';

const machine = describeMachine();
const tokens = prepareTokens();
// One core for the code and the threads of WebCrypto alike, as a server has it.
pinSelf(0);
const keySet = startKeySetServer(tokens.jwks);
const inFlight = 64;

/** Returns a function that goes through the tokens of a file, over and over. */
function rotation(file: TokenFile): () => string {
  const lines = readFileSync(tokens.file(file), 'latin1').trim().split('\n');
  let next = 0;
  return () => lines[next++ % lines.length] ?? '';
}

async function startInProcess(settings: Readonly<Record<string, string>> = {}) {
  const environment = { ISSUER: issuer, AUDIENCE: audience, JWKS_URI: keySet.uri('micro'), ...settings };
  const log = createLog('silent', { isTerminal: false, hasColour: false });
  const service = createService({ settings: readSettings(environment, false), log, droppedLogLines: () => 0 });
  const authorization = `Bearer ${tokens.first('RS256')}`;
  const { status } = await service.fetch(new Request('http://localhost/api/private', { headers: { authorization } }));
  if (status !== 200) throw new Error(`Cannot get a valid token accepted: ${status}`);
  return service;
}

const [service, observed] = [await startInProcess(), await startInProcess({ METRICS_PORT: '1' })];
const first = () => tokens.first('RS256');
const requestStep = (label: string, { fetch } = service, path = '/api/private', token?: () => string): Step => ({
  label,
  prepare() {
    const headers = token && { authorization: `Bearer ${token()}` };
    const request = new Request(`http://localhost${path}`, headers && { headers });
    return () => fetch(request);
  },
});

const pem = readFileSync(tokens.publicKeyFile, 'utf8');
const [key, nodeKey] = [await importSPKI(pem, 'RS256'), createPublicKey(pem)];
const found = [{ cryptoKey: key, algorithm: 'RS256', identity: '', isCurrent: true }] as const;
const keySets = new Map([[issuer, { find: () => found, isCurrent: () => true }]]);
const verifier = createVerifier({ ...checkOptions({ issuer, audience }), tokenCacheSize: 0, keySets });
const next = rotation('RS256');

function signatureStep(label: string, run: (signed: Uint8Array, signature: Uint8Array<ArrayBuffer>) => unknown): Step {
  const prepare = () => {
    const token = next();
    const dot = token.lastIndexOf('.');
    const signature = new Uint8Array(Buffer.from(token.slice(dot + 1), 'base64url'));
    const signed = new TextEncoder().encode(token.slice(0, dot));
    return () => run(signed, signature);
  };
  return { label, prepare, inFlight };
}

const tokenStep = (label: string, run: (token: string) => unknown): Step => ({
  label,
  prepare: () => run.bind(undefined, next()),
  inFlight,
});

const steps: Step[] = [
  { label: 'Response.json alone', prepare: () => () => Response.json({ message: 'Hello' }) },
  requestStep('public', service, '/api/public'),
  requestStep('public, with metrics', observed, '/api/public'),
  requestStep('one token', service, '/api/private', first),
  requestStep('one token, with metrics', observed, '/api/private', first),
  requestStep('one token, scope', service, '/api/private-scoped', first),
  requestStep('no header'),
  requestStep('unknown kid', service, '/api/private', tokens.unknownKid),
  { ...requestStep('bad signature', service, '/api/private', rotation('forged')), inFlight },
  tokenStep('verifier without cache', verifier.verify),
  tokenStep('jose compactVerify', (token) => compactVerify(token, key)),
  signatureStep('crypto.subtle.verify', (signed, signature) =>
    crypto.subtle.verify('RSASSA-PKCS1-v1_5', key, signature, signed as Uint8Array<ArrayBuffer>),
  ),
  signatureStep('node:crypto verify', (signed, signature) => verify('sha256', signed, nodeKey, signature)),
];

const { page, medians } = await measureSteps(steps);
const ratio = (medians['verifier without cache'] ?? Number.NaN) / (medians['jose compactVerify'] ?? Number.NaN);
await keySet.stop();
await writeSection(
  'micro',
  `## Single steps (\`bun run bench:micro\`)

${machine}
- Method: mitata, in one process on one core, over the service's \`fetch\` with real Requests, which are made before; CPU time of all threads. Signatures with ${inFlight} in flight.

${page}

Every token new, verifier without cache / jose alone: ${ratio.toFixed(2)}. Goal: at most 1.10.`,
);
process.exit();
