import { decodeJwt, decodeProtectedHeader } from 'jose';
import { nowSeconds } from '../issuer/signer.ts';
import { partsOf } from '../issuer/test-issuer.ts';
import { isJsonObject, type Members, parseJsonObject } from '../values/json.ts';
import { isLoopbackHost } from '../values/url.ts';
import { challengesIn } from './challenges.ts';
import { type Base, forge } from './forge.ts';
import type { ProbeOptions, Target } from './options.ts';
import { type Answer, type Attempt, controlSubject, type Trial } from './row.ts';
import { proofFor, thumbprintOf } from './rows/dpop.ts';
import { metadataUrls } from './rows/metadata.ts';
import { serverOf } from './served-issuer.ts';
import type { Received, Sender } from './transport.ts';

// Here a target is made ready for its rows: where good tokens come from, what it says of itself, and its controls.

/** Where good tokens come from. */
export interface Source {
  /** Returns the good token of a target, and what is known of its issuer. */
  readonly baseFor: (target: Target) => Base;
  readonly hasToken: boolean;
  /** What to change if a good token is refused. */
  readonly advice: string;
  /** Gets a new token if the old one expires within half a minute. */
  readonly renew: () => Promise<void>;
}

const renewSeconds = 30;

/** Returns where the tokens of a run come from: an issuer of tests, a token, or nothing but imagination. */
export async function sourceOf(options: ProbeOptions): Promise<Source> {
  const { issuer, token, keys } = options;
  if (issuer) return issuerSource(issuer);
  const made = { ...imagined };
  const read = async () => {
    const text = (typeof token === 'function' ? await token() : token)?.trim().replace(/^(?:Bearer|DPoP)\s+/i, '');
    if (text === undefined) return;
    const header = readIfAny(() => decodeProtectedHeader(text)) ?? {};
    const claims = readIfAny(() => decodeJwt(text)) ?? {};
    const publicKey = keys?.keys.filter(isJsonObject).find(({ kid }) => kid === header.kid);
    Object.assign(made, { token: text, header: { alg: 'RS256', ...header }, claims: () => claims, publicKey });
  };
  await read();
  return {
    baseFor: () => made,
    hasToken: token !== undefined,
    advice: 'Give a token that the API accepts',
    async renew() {
      const { exp } = made.claims();
      if (typeof exp !== 'number' || made.token === undefined || exp - nowSeconds() > renewSeconds) return;
      if (typeof token === 'function') await read();
      else if (exp <= nowSeconds()) throw new Error('The token has expired during the run: give one that lives longer');
    },
  };
}

/** What is sent if nothing is known: an API refuses it for any of several reasons. */
const imagined: Base = {
  issuer: 'https://issuer.invalid/',
  audience: 'https://api.invalid',
  header: { alg: 'RS256', typ: 'at+jwt', kid: 'probe' },
  claims: () => ({
    iss: 'https://issuer.invalid/',
    aud: 'https://api.invalid',
    sub: controlSubject,
    exp: nowSeconds() + 3600,
  }),
  key: undefined,
  publicKey: undefined,
  token: undefined,
  elsewhere: 'https://attacker.invalid/elsewhere',
};

function issuerSource(testIssuer: NonNullable<ProbeOptions['issuer']>): Source {
  const known = partsOf(testIssuer);
  if (!known) throw new TypeError('Cannot probe: issuer must be an issuer that createTestIssuer() returned');
  const { issuer, audience, key, kid } = known;
  const server = serverOf(testIssuer);
  const publicKey = testIssuer.options.keys.keys.filter(isJsonObject).find((jwk) => jwk.kid === kid);
  return {
    hasToken: true,
    async renew() {},
    advice: `The API must trust the issuer ${issuer} with the audience ${audience}${server ? `, whose keys are at ${server.url}.well-known/jwks.json` : ', and the keys in issuer.options'}`,
    baseFor: ({ scope }) => ({
      ...{ issuer, audience, key, publicKey, token: undefined },
      header: { alg: 'RS256', typ: 'at+jwt', kid },
      claims() {
        const iat = nowSeconds();
        const granted = scope.length > 0 && { scope: scope.join(' ') };
        return {
          iss: issuer,
          aud: audience,
          sub: controlSubject,
          client_id: 'probe',
          iat,
          exp: iat + 3600,
          jti: crypto.randomUUID(),
          ...granted,
        };
      },
      elsewhere: server ? `${server.url}elsewhere` : imagined.elsewhere,
    }),
  };
}

function readIfAny(read: () => Members): Members | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

interface State {
  /** The ID of the row that sends. */
  row: string;
  /** The newest nonce for proofs. */
  nonce: string | undefined;
  scheme: 'Bearer' | 'DPoP';
  /** The class of status of a good token. */
  class: number;
}

/** Returns functions that send requests to a target and say what became of them. */
function sending(target: Target, sender: Sender, state: State) {
  const judge = (received: Received): Answer => {
    const { status, headers } = received;
    const isServed = [2, state.class].includes(Math.floor(status / 100));
    const isUnclear = status === 0 || status === 429 || status >= 500;
    state.nonce = headers.get('dpop-nonce') ?? state.nonce;
    return { ...received, outcome: isServed ? 'served' : isUnclear ? 'unclear' : 'refused' };
  };
  async function send(attempt: Attempt): Promise<Answer> {
    const { token, headers = [], method = target.method, body = target.body } = attempt;
    const url = attempt.url?.(target.url) ?? target.url;
    const credentials = (): (readonly [string, string])[] => {
      if (token === undefined) return [];
      const isBound = state.scheme === 'DPoP';
      const proof = isBound ? [['DPoP', proofFor({ method, url }, token, {}, state.nonce)] as const] : [];
      return [['Authorization', `${state.scheme} ${token}`], ...proof];
    };
    const before = state.nonce;
    const once = async () =>
      judge(await sender.send({ id: state.row, method, url, headers: [...credentials(), ...headers], body }));
    const answer = await once();
    // A client of RFC 9449 repeats a request with the nonce that it was given (§8, §9).
    return token !== undefined && state.nonce !== before && answer.status === 401 ? once() : answer;
  }
  const read = async (url: string) => judge(await sender.send({ id: state.row, method: 'GET', url, headers: [] }));
  return { send, read };
}

/** Sends the controls to a target, reads its metadata, and returns what rows need. */
export async function createTrial(target: Target, source: Source, sender: Sender, options: ProbeOptions) {
  const { url, method, scope } = target;
  const state: State = { row: 'control', nonce: undefined, scheme: 'Bearer', class: 2 };
  const base = () => boundIf(state.scheme === 'DPoP', source.baseFor(target));
  const { send, read } = sending(target, sender, state);

  const bare = await send({});
  const found = bare.outcome === 'refused' ? await readResourceMetadata(url, bare, read) : {};
  const { dpop_signing_alg_values_supported: algorithms, dpop_bound_access_tokens_required: isRequired } =
    found.metadata ?? {};
  const schemes = challengesIn(bare.headers.get('www-authenticate'))?.map(({ scheme }) => scheme.toLowerCase()) ?? [];
  const hasDpop = schemes.includes('dpop');
  if (base().key && (isRequired === true || (hasDpop && !schemes.includes('bearer')))) state.scheme = 'DPoP';
  const control = async () => (source.hasToken ? send({ token: forge(base()) }) : undefined);
  const firstGood = bare.outcome === 'refused' ? await control() : undefined;
  if (firstGood && [301, 302, 303, 307, 308].includes(firstGood.status)) state.class = 3;
  const good: Answer | undefined = firstGood && state.class === 3 ? { ...firstGood, outcome: 'served' } : firstGood;
  const secondGood = good && (await control());

  const isOwn = options.fetch !== undefined || isLoopbackHost(new URL(url).hostname);
  const trial: Trial = {
    get base() {
      return base();
    },
    ...{ url, method, scope, profile: options.profile, bare, good, send, read, scheme: state.scheme },
    ...{ metadata: found.metadata, metadataUrl: found.metadataUrl, nonce: () => state.nonce },
    server: options.issuer && serverOf(options.issuer),
    isIntrusive: options.intrusive ?? isOwn,
    hasDpop: hasDpop || algorithms !== undefined,
  };
  return { trial, secondGood, control, begin: (row: string) => void Object.assign(state, { row }) };
}

const boundIf = (isBound: boolean, base: Base): Base =>
  isBound ? { ...base, claims: () => ({ ...base.claims(), cnf: { jkt: thumbprintOf('client') } }) } : base;

/** Reads the metadata at the URL that the challenge names, or at the well-known ones, but never at another host. */
async function readResourceMetadata(url: string, bare: Answer, read: Trial['read']) {
  const named = challengesIn(bare.headers.get('www-authenticate'))
    ?.flatMap(({ parameters }) => parameters)
    .find(([name]) => name === 'resource_metadata')?.[1];
  const { host } = new URL(url);
  const isNear = named !== undefined && URL.canParse(named) && new URL(named).host === host;
  for (const metadataUrl of isNear ? [named] : metadataUrls(url)) {
    const { status, text } = await read(metadataUrl);
    const metadata = status === 200 ? parseJsonObject(new TextEncoder().encode(text)) : undefined;
    if (metadata && 'resource' in metadata) return { metadata, metadataUrl };
  }
  return {};
}
