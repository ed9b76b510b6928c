import { metadataUrls } from '../http/resource-metadata.ts';
import type { Answer, Trial } from '../row/row.ts';
import { finding, requests } from '../row/topic.ts';
import type { Members } from '../values/json.ts';
import { printable } from '../values/text.ts';
import { isLoopbackHost, isSecureUrl } from '../values/url.ts';

// The metadata of the protected resource (RFC 9728), where the challenge or the well-known path lead to them.

/** A list of URLs or names. */
const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
const told = (expected: string, fault: (metadata: Members, trial: Trial) => unknown) =>
  finding(expected, 0, async (trial) => {
    const wrong = trial.metadata === undefined ? 'no metadata' : fault(trial.metadata, trial);
    return wrong ? { verdict: 'failed', got: String(wrong) } : { verdict: 'passed', got: 'as expected' };
  });
const answered = (expected: string, fault: (answer: Answer) => unknown) =>
  finding(expected, 1, async ({ read, metadataUrl, url }) => {
    const answer = await read(metadataUrl ?? metadataUrls(url)[0] ?? url);
    const wrong = fault(answer);
    if (answer.outcome === 'unclear') return { verdict: 'inconclusive', got: answer.words };
    return wrong ? { verdict: 'failed', got: String(wrong) } : { verdict: 'passed', got: answer.words };
  });
const absent = (value: unknown) => (value === undefined ? 'it is missing' : printable(JSON.stringify(value)));
/** Whether a resource is this URL or above it. On loopback, an API may be tried whose public URL is another. */
const isAbove = (resource: unknown, url: string) => {
  if (typeof resource !== 'string' || !URL.canParse(resource)) return false;
  const [above, at] = [new URL(resource), new URL(url)];
  const isOther = isLoopbackHost(at.hostname) && !isLoopbackHost(above.hostname);
  return isOther || (above.origin === at.origin && `${at.pathname}/`.startsWith(above.pathname.replace(/\/?$/, '/')));
};

export const metadataRows = requests(
  'metadata',
  {
    rule: 'RFC 9728 §2',
    needs: 'nothing',
    level: 'should',
    profiles: { mcp: 'must' },
    remedy: 'Serve the metadata of the resource at its well-known path, without a token',
    skip: ({ metadata, profile }) => (metadata || profile === 'mcp' ? undefined : 'There are no metadata (RFC 9728)'),
  },
  {
    present: {
      sent: 'a request for the metadata, without a token',
      ...told('200 with an object of JSON', () => undefined),
      rule: 'RFC 9728 §3',
    },
    'media-type': {
      sent: 'a request for the metadata',
      ...answered(
        'Content-Type: application/json',
        ({ headers }) =>
          !/^application\/json\b/.test(headers.get('content-type') ?? '') &&
          absent(headers.get('content-type') ?? undefined),
      ),
      rule: 'RFC 9728 §3.2',
      level: 'must',
    },
    resource: {
      sent: 'a request for the metadata',
      ...told(
        'a resource that the URL is, or lies below',
        ({ resource }, { url }) => !isAbove(resource, url) && absent(resource),
      ),
      rule: 'RFC 9728 §3.3, §7.6',
      level: 'must',
    },
    servers: {
      sent: 'a request for the metadata',
      ...told(
        'authorization_servers',
        ({ authorization_servers: servers }) => !(isList(servers) && servers.length > 0) && absent(servers),
      ),
    },
    'servers-secure': {
      sent: 'a request for the metadata',
      ...told(
        'https URLs of authorization servers',
        ({ authorization_servers: servers }) => isList(servers) && servers.find((url) => !isSecureUrl(url)),
      ),
      level: 'must',
    },
    'bearer-methods': {
      sent: 'a request for the metadata',
      ...told(
        'header among bearer_methods_supported, and no query',
        ({ bearer_methods_supported: methods }) =>
          methods !== undefined &&
          !(isList(methods) && methods.includes('header') && !methods.includes('query')) &&
          absent(methods),
      ),
    },
    scopes: {
      sent: 'a request for the metadata',
      ...told(
        'a list of scopes, with that of the target',
        ({ scopes_supported: scopes }, { base }) =>
          scopes !== undefined &&
          !(isList(scopes) && base.scope.split(' ').every((each) => scopes.some((name) => name.endsWith(each)))) &&
          absent(scopes),
      ),
    },
    'proof-algorithms': {
      sent: 'a request for the metadata',
      ...told(
        'asymmetric algorithms of proofs',
        ({ dpop_signing_alg_values_supported: algs }) =>
          algs !== undefined &&
          !(isList(algs) && algs.length > 0 && !algs.some((alg) => /^(?:HS|none)/i.test(alg))) &&
          absent(algs),
      ),
      rule: 'RFC 9728 §2; RFC 9449 §5.1',
      level: 'must',
    },
    'no-empty-lists': {
      sent: 'a request for the metadata',
      ...told(
        'no empty list',
        (metadata) => Object.entries(metadata).find(([, value]) => Array.isArray(value) && value.length === 0)?.[0],
      ),
      rule: 'RFC 9728 §3.2',
      level: 'must',
    },
    'every-origin': {
      sent: 'a request for the metadata from a page',
      ...answered(
        'Access-Control-Allow-Origin: *',
        ({ headers }) =>
          headers.get('access-control-allow-origin') !== '*' &&
          absent(headers.get('access-control-allow-origin') ?? undefined),
      ),
      rule: 'Fetch §3.3',
      profiles: {},
    },
  },
);
