import type { FetchFailure, FetchFault } from '../../types.ts';
import { printableUrl } from '../../values/url.ts';

/*
 * What can be wrong with a document of an issuer, and how that is said. Text that an issuer chose is escaped where a
 * fault is created.
 */

/** Thrown if a document cannot be fetched or is not valid. */
export class FetchError extends Error {
  readonly fault: FetchFault;

  /** @param details `url` was fetched; its printable form is the address */
  constructor(failure: FetchFailure, details: Partial<FetchFault> & { readonly url?: string | undefined } = {}) {
    const { url, address = url && printableUrl(url), cause, status, found, proxy, tried } = details;
    const fault = { failure, address, cause, status, found, proxy, tried };
    super(`Cannot use a document of the issuer: ${describeFault(fault)}`);
    this.fault = fault;
  }
}

/** Causes for which a code alone says too little. */
const causes: Readonly<Record<string, string>> = {
  ERR_ACCESS_DENIED: 'this process has no permission to connect to it (--allow-net)',
  ERR_PROXY_TUNNEL: 'the proxy refused to connect to it (ERR_PROXY_TUNNEL)',
};

const notKeySet = 'not a key set, which is {"keys":[...]}';

/** What a document is, or lacks, instead of being a key set or metadata. */
const wrongDocuments = {
  metadata: (keySetUrl: string) => `is metadata, not a key set: leave ${keySetUrl} out`,
  'an object': () => 'is an object without keys',
  'no keys': () => 'is a key set without a key',
  'one key': () => `is a single key, ${notKeySet}`,
  'a list': () => `is a list, ${notKeySet}`,
  certificates: () => `has PEM certificates by key ID, ${notKeySet}: the issuer publishes one at another URL`,
  'a page': () => 'is an HTML page, not JSON',
  'no JSON': () => 'is not JSON',
  'no JSON object': () => 'is not a JSON object',
  'no metadata': () => 'is not the metadata of an issuer',
  'no jwks_uri': () => 'is metadata without jwks_uri',
} satisfies Readonly<Record<string, (keySetUrl: string) => string>>;

/** A fixed word for what is wrong with a document. */
export type WrongDocument = keyof typeof wrongDocuments;

type Clause = (fault: FetchFault, keySetUrl: string) => string;

const clauses: Readonly<Record<FetchFailure, Clause>> = {
  timeout: () => 'did not respond within the time limit',
  network: ({ cause = '' }) => `cannot be reached${cause === '' ? '' : `: ${causes[cause] ?? cause}`}`,
  redirect: ({ status }) => `redirects (status ${status}), and redirects are not followed`,
  status: ({ status }) => `returned the status ${status}`,
  encoded: ({ found }) =>
    `returned a compressed response (Content-Encoding: ${found}), although the request accepts only identity: turn compression off for it at the server, or at the proxy in front of it`,
  too_large: () => 'returned more than 1 MiB',
  malformed: ({ found = '' }, keySetUrl) =>
    wrongDocuments[found as WrongDocument]?.(keySetUrl) ?? 'returned no valid key set or metadata',
  issuer_mismatch: ({ found }) => (found === undefined ? 'names no issuer' : `names the issuer ${found}`),
  insecure_address: ({ found }) => `names a key set URL that is not secure: ${found}`,
  no_usable_key: ({ found }) => `has no usable key: ${found}`,
};

/**
 * Returns a clause that says what is wrong with an issuer's document: `https://… returned the status 404`.
 * @param keySetUrl names the option with the URL of the key set
 */
export function describeFault(fault: FetchFault, keySetUrl = 'jwksUri (JWKS_URI)'): string {
  const { address = 'the key set', failure, proxy } = fault;
  return `${address} ${clauses[failure](fault, keySetUrl)}${proxy === undefined ? '' : `, through the proxy ${proxy}`}`;
}
