import { decodeJwt, decodeProtectedHeader } from 'jose';
import { createLog } from '../observe/log.ts';
import { createService, type ServiceOptions } from '../service.ts';
import { adviceFor } from './advice.ts';
import { checksFor, type DecodedToken, type Explained, isBoundBy, show } from './checks.ts';

/** A check of a token. */
export interface ExplainedCheck {
  readonly name: string;
  /** What the token has. Not escaped. */
  readonly has: string;
  readonly verdict: 'passed' | 'rejected' | 'not reached';
  /** The verdict in words. Not escaped. */
  readonly words: string;
}

export interface Explanation {
  readonly checks: readonly ExplainedCheck[];
  /** The status of the answer to a request with the token. */
  readonly status: number;
  /** The code of that answer; undefined if the token is accepted. */
  readonly code: string | undefined;
  /** What to do about it. Not escaped. */
  readonly advice: string;
}

export interface ExplainOptions {
  readonly settings: ServiceOptions['settings'];
  readonly options: ServiceOptions['options'];
  /** Fetches keys and metadata; defaults to the global `fetch`. */
  readonly fetch?: ServiceOptions['fetch'];
}

const protectedPath = '/api/private';
const scopedPath = '/api/private-scoped';

/**
 * Explains how the service answers to a token. The verdict is that of the service itself, which gets a request with the token;
 * the checks only say what the token has. Fetches keys, and does not listen.
 */
export async function explainToken(text: string, given: ExplainOptions): Promise<Explanation> {
  const token = decode(text);
  const { ask, stop } = createAnswering(given, token);
  const { status, code, description, reason, fetchFailure } = await ask(protectedPath);
  const scoped = await ask(scopedPath);
  stop();

  const explained = { token, settings: given.options, nowSeconds: Date.now() / 1000, fetchFailure };
  const checks = explainChecks(reason, explained);
  if (status !== 200) return { checks, status, code, advice: adviceFor(reason, explained) ?? description ?? '' };
  return { checks: [...checks, explainScope(scoped.status, explained)], status, code, advice: 'Token is accepted' };
}

/** The checks before the one that rejected have passed. Those after it were not reached. */
function explainChecks(reason: string, explained: Explained): readonly ExplainedCheck[] {
  const checks = checksFor(explained.settings);
  const owner = checks.findIndex(({ reasons }) => reasons.includes(reason));
  const rejected = reason === 'accepted' ? checks.length : owner === -1 ? checks.length - 1 : owner;
  return checks.flatMap((check, index): readonly ExplainedCheck[] => {
    const { name, passed } = check;
    const has = check.has(explained) ?? (index === rejected ? 'none' : undefined);
    if (has === undefined) return [];
    if (index < rejected) return [{ name, has, verdict: 'passed', words: passed }];
    if (index > rejected) return [{ name, has, verdict: 'not reached', words: 'not reached' }];
    return [{ name, has, verdict: 'rejected', words: `rejected: ${check.wants(explained)}` }];
  });
}

/** Returns the service, and what it answers and logs. */
function createAnswering({ settings, options, fetch }: ExplainOptions, token: DecodedToken) {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = createLog(
    'debug',
    { isTerminal: false, hasColour: false },
    {
      write: (line) => void lines.push(JSON.parse(line)),
      flush() {},
      droppedLines: () => 0,
      onRecovered() {},
    },
  );
  // Only the guard is needed. There is no proof, so none is recorded as used.
  const needed = { ...settings, docs: false, metricsPort: undefined, redisUrl: undefined };
  const service = createService({ settings: needed, options, log, droppedLogLines: () => 0, ...(fetch && { fetch }) });
  const needsProof = token.claims.cnf !== undefined && (isBoundBy('jkt', token) || !isBoundBy('x5t#S256', token));
  const scheme = options.dpop === 'required' || (options.dpop === 'on' && needsProof) ? 'DPoP' : 'Bearer';

  return {
    stop: service.stop,
    async ask(path: string) {
      const headers = { authorization: `${scheme} ${token.text}` };
      const response = await service.fetch(new Request(`http://localhost${path}`, { headers }));
      const { code, description } = (await response.json()) as Readonly<Record<string, string>>;
      const reason = show(lines.findLast(({ outcome }) => outcome !== undefined && outcome !== null)?.outcome);
      const failure = lines.findLast(({ msg }) => msg === 'Cannot fetch the key set');
      return { status: response.status, code, description, reason, fetchFailure: failure ? showFailure(failure) : '' };
    },
  };
}

/** Whatever the log says of a failed fetch. */
function showFailure({ level, time, msg, issuer, failures, ...details }: Readonly<Record<string, unknown>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name} ${show(value)}`)
    .join(', ');
}

/** A token without a scope is accepted nevertheless, just not everywhere. */
function explainScope(status: number, { token, settings }: Explained): ExplainedCheck {
  const { scopeClaim, scopePrefix, scopeImplies } = settings;
  // A JSON Pointer begins in a claim of the token.
  const claims = new Set(scopeClaim.map((name) => (name.startsWith('/') ? (name.split('/')[1] ?? '') : name)));
  const has = [...claims].map((name) => `${name} ${show(token.claims[name])}`).join(', ');
  const prefix = scopePrefix === undefined ? '' : `, SCOPE_PREFIX is ${scopePrefix}`;
  const pairs = Object.entries(scopeImplies).flatMap(([broad, narrow]) => narrow.map((one) => `${broad}=${one}`));
  const implied = pairs.length === 0 ? '' : `, SCOPE_IMPLIES is ${pairs.join(', ')}`;
  const wants = `SCOPE_CLAIM is ${scopeClaim.join(', ')}${prefix}${implied}`;
  return status === 200
    ? { name: 'scope', has, verdict: 'passed', words: `sufficient for ${scopedPath}` }
    : { name: 'scope', has, verdict: 'rejected', words: `${status} at ${scopedPath}: ${wants}` };
}

function decode(text: string): DecodedToken {
  // Other characters are allowed neither in a header nor in a token.
  const sent = text.replace(/[^\x20-\x7e\t]/g, '?');
  return { text: sent, header: attempt(() => decodeProtectedHeader(sent)), claims: attempt(() => decodeJwt(sent)) };
}

function attempt(read: () => object): DecodedToken['claims'] {
  try {
    return { ...read() };
  } catch {
    return {};
  }
}
