import { printable } from '../../values/url.ts';
import { type Answer, finding, type Row, type Trial, topic } from '../row.ts';

// The metadata of the protected resource (RFC 9728), where the challenge or the well-known path lead to them.

/** Returns the URLs of the metadata of a resource: with its path (RFC 9728 §3.1), and of its origin. */
export function metadataUrls(url: string): readonly string[] {
  const { origin, pathname } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return [...new Set([pathname === '/' ? root : root + pathname, root])];
}

/** A list of URLs or names. */
const isList = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((each) => typeof each === 'string');
const told = (expected: string, fault: (metadata: NonNullable<Trial['metadata']>, trial: Trial) => unknown) =>
  finding(expected, async (trial) => {
    const wrong = trial.metadata === undefined || fault(trial.metadata, trial);
    return {
      verdict: wrong ? 'failed' : 'passed',
      got: wrong ? `${wrong === true ? 'no metadata' : wrong}` : 'as expected',
    };
  });
const answered = (expected: string, fault: (answer: Answer) => unknown) =>
  finding(expected, async (trial) => {
    const answer = await trial.read(trial.metadataUrl ?? metadataUrls(trial.url)[0] ?? trial.url);
    if (answer.outcome === 'unclear') return { verdict: 'inconclusive', got: answer.words };
    const wrong = fault(answer);
    return { verdict: wrong ? 'failed' : 'passed', got: wrong ? String(wrong) : answer.words };
  });
const absent = (value: unknown) => (value === undefined ? 'it is missing' : printable(JSON.stringify(value)));
const isSecure = (url: string) => /^https:|^http:\/\/(?:localhost|127\.|\[::1\])/.test(url);

// biome-ignore format: a row is a line.
export const metadataRows: readonly Row[] = topic('metadata', { rule: 'RFC 9728 §2', needs: 'nothing', level: 'should', profiles: { mcp: 'must' }, remedy: 'Serve the metadata of the resource at its well-known path, without a token', skip: ({ metadata, profile }) => (metadata || profile === 'mcp' ? undefined : 'There are no metadata (RFC 9728)') }, {
  present: ['a request for the metadata, without a token', told('200 with an object of JSON', () => false), { rule: 'RFC 9728 §3' }],
  'media-type': ['a request for the metadata', answered('Content-Type: application/json', ({ headers }) => !/^application\/json\b/.test(headers.get('content-type') ?? '') && absent(headers.get('content-type') ?? undefined)), { rule: 'RFC 9728 §3.2', level: 'must' }],
  resource: ['a request for the metadata', told('a resource that the URL is, or lies below', ({ resource }, { url }) => !(typeof resource === 'string' && url.startsWith(resource.replace(/\/$/, ''))) && absent(resource)), { rule: 'RFC 9728 §3.3, §7.6', level: 'must' }],
  servers: ['a request for the metadata', told('authorization_servers', ({ authorization_servers: servers }) => !(isList(servers) && servers.length > 0) && absent(servers))],
  'servers-secure': ['a request for the metadata', told('https URLs of authorization servers', ({ authorization_servers: servers }) => isList(servers) && servers.find((url) => !isSecure(url))), { level: 'must' }],
  'bearer-methods': ['a request for the metadata', told('header among bearer_methods_supported, and no query', ({ bearer_methods_supported: methods }) => methods !== undefined && !(isList(methods) && methods.includes('header') && !methods.includes('query')) && absent(methods))],
  scopes: ['a request for the metadata', told('a list of scopes, with that of the target', ({ scopes_supported: scopes }, { scope }) => scopes !== undefined && !(isList(scopes) && (scope.length === 0 || scope.every((each) => scopes.some((name) => name.endsWith(each))))) && absent(scopes))],
  'proof-algorithms': ['a request for the metadata', told('asymmetric algorithms of proofs', ({ dpop_signing_alg_values_supported: algs }) => algs !== undefined && !(isList(algs) && algs.length > 0 && !algs.some((alg) => /^(?:HS|none)/i.test(alg))) && absent(algs)), { rule: 'RFC 9728 §2; RFC 9449 §5.1', level: 'must' }],
  'no-empty-lists': ['a request for the metadata', told('no empty list', (metadata) => Object.entries(metadata).find(([, value]) => Array.isArray(value) && value.length === 0)?.[0]), { rule: 'RFC 9728 §3.2', level: 'must' }],
  'every-origin': ['a request for the metadata from a page', answered('Access-Control-Allow-Origin: *', ({ headers }) => headers.get('access-control-allow-origin') !== '*' && absent(headers.get('access-control-allow-origin') ?? undefined)), { rule: 'Fetch §3.3', profiles: {} }],
});
