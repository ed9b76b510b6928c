import { createPublicKey, verify } from 'node:crypto';
import { Elysia } from 'elysia';
import { compactVerify, importSPKI } from 'jose';
import { checkOptions } from '../../src/auth/options.ts';
import { createVerifier, type Verifier } from '../../src/auth/token/verifier.ts';
import { createAnswers, createCommonHeaders } from '../../src/http/answers.ts';
import { createHttpPlugin, elysiaOptions } from '../../src/http/plugin.ts';
import { audience, hostname, issuer, port, privateMessage, publicKeyPem } from './environment.ts';

type Fetch = (request: Request) => Response | Promise<Response>;

const commonHeaders = createCommonHeaders();
const { json } = createAnswers(commonHeaders);
const answer = (isGood: boolean) => (isGood ? json(200, privateMessage) : json(401, privateMessage));

const pem = publicKeyPem();
const [key, nodeKey] = [await importSPKI(pem, 'RS256'), createPublicKey(pem)];
const found = [{ cryptoKey: key, algorithm: 'RS256', identity: '', isCurrent: true }] as const;
const checked = checkOptions({ issuer, audience });
const createStepVerifier = (tokenCacheSize: number) =>
  createVerifier({
    ...checked,
    tokenCacheSize,
    keySets: new Map([[issuer, { find: () => found, isCurrent: () => true }]]),
  });
const remembering = createStepVerifier(10_000);
const forgetting = createStepVerifier(0);

const isPublic = (request: Request) => request.url.endsWith('/public');
const tokenOf = (request: Request) => request.headers.get('authorization')?.slice('Bearer '.length) ?? '';

/** Splits without any check, for the steps before the verifier. */
function split(token: string) {
  const dot = token.lastIndexOf('.');
  return { signed: Buffer.from(token.slice(0, dot)), signature: Buffer.from(token.slice(dot + 1), 'base64url') };
}

const byVerdict =
  (check: (token: string) => boolean | Promise<boolean>): Fetch =>
  async (request) =>
    isPublic(request) ? answer(true) : answer(await check(tokenOf(request)));

/** Elysia with a derive hook that verifies as the guard does, and with the service's HTTP plugin or without. */
function createApp(verifier: Verifier, hasPlugin: boolean): Fetch {
  const plugin = createHttpPlugin({ commonHeaders, routes: () => app.routes, onInternalError: console.error });
  const app = new Elysia(elysiaOptions)
    .use(hasPlugin ? plugin : new Elysia())
    .get('/api/public', () => answer(true))
    .derive(async ({ request }) => ({ verdict: await verifier.verify(tokenOf(request)) }))
    .get('/api/private', ({ verdict, status }) => {
      if (hasPlugin) return 'claims' in verdict ? privateMessage : status(401, privateMessage);
      return answer('claims' in verdict);
    });
  return app.fetch;
}

/** Each does what the one before it does, and one thing more. */
const steps: Readonly<Record<string, () => Fetch>> = {
  response: () => () => answer(true),
  promise: () => async () => answer(true),
  header: () => byVerdict((token) => token !== ''),
  hit: () => byVerdict(async (token) => 'claims' in (await remembering.verify(token))),
  elysia: () => createApp(remembering, false),
  plugin: () => createApp(remembering, true),
  node: () =>
    byVerdict((token) => {
      const { signed, signature } = split(token);
      return verify('sha256', signed, nodeKey, signature);
    }),
  subtle: () =>
    byVerdict((token) => {
      const { signed, signature } = split(token);
      return crypto.subtle.verify('RSASSA-PKCS1-v1_5', key, signature, signed);
    }),
  jose: () =>
    byVerdict((token) =>
      compactVerify(token, key).then(
        () => true,
        () => false,
      ),
    ),
  verifier: () => byVerdict(async (token) => 'claims' in (await forgetting.verify(token))),
  'verifier-elysia': () => createApp(forgetting, false),
  'verifier-plugin': () => createApp(forgetting, true),
};

const step = steps[process.argv[2] ?? ''];
if (!step) throw new Error(`Name a step: ${Object.keys(steps).join(', ')}`);
Bun.serve({ hostname, port, development: false, fetch: step() });
