import type { TestIssuer } from 'protected-api/testing';
import type { Handler } from '../http/sender.ts';
import type { ProbedRow } from '../report/result.ts';
import type { Profile } from '../row/description.ts';
import { printable } from '../values/text.ts';

// Here is what a run is given, and how its targets are read.

/** How much is tried. */
export type Depth = 'quick' | 'standard' | 'full';

/** What is tried, and with what. */
export interface ProbeOptions {
  /** A test issuer that the API trusts. Its tokens decide how deep the run goes. */
  readonly issuer?: TestIssuer | undefined;
  /**
   * Claims of every token of the test issuer beside the registered ones, if the API needs more. `undefined` removes
   * one.
   */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /**
   * A good token of another issuer, or a function that returns one. A function is called again before the token
   * expires.
   */
  readonly token?: string | (() => Promise<string>) | undefined;
  /** More tokens of that issuer, by what is wrong with them: each must be rejected. */
  readonly tokens?: Readonly<Partial<Record<'expired' | 'audience' | 'scope' | 'id', string>>> | undefined;
  /** The public keys of that issuer, for HMACs keyed with them. */
  readonly keys?: { readonly keys: readonly object[] } | undefined;
  /** The application: a function from request to response. Defaults to the network. */
  readonly fetch?: Handler | undefined;
  /** What requires a token: URLs, or URLs with their method and scope. */
  readonly targets?: readonly (string | ProbeTarget)[] | undefined;
  /** An OpenAPI document instead: operations with `security` are tried, the others are listed. */
  readonly openapi?: object | undefined;
  /** The URL of the document. If it is given, requests go to its host only, whatever server the document names. */
  readonly baseUrl?: string | undefined;
  /** Methods of the document that are tried. Defaults to GET. */
  readonly methods?: readonly string[] | undefined;
  /** Which standard decides what is a `must`. Defaults to RFC 6750, RFC 7519, RFC 8725 and the metadata of the API. */
  readonly profile?: Profile | undefined;
  /**
   * How much is tried: `quick` the most harmful rows of each topic within 120 requests to each target, `standard` (the
   * default) every row within 900 requests in all to hosts other than this machine, `full` within 5,000, for many
   * targets.
   */
  readonly depth?: Depth | undefined;
  /** IDs of rows that are known to fail, each with its reason. One that passes again is a failure. */
  readonly known?: Readonly<Record<string, string>> | undefined;
  /** IDs of rows, or the beginnings of IDs: only these are tried. */
  readonly only?: readonly string[] | undefined;
  /** IDs of rows, or the beginnings of IDs, that are not tried. */
  readonly skip?: readonly string[] | undefined;
  /** Headers of every request, such as that of a gateway. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether floods of unknown keys, and headers over 8 KiB, are sent. Defaults to true for functions and loopback. */
  readonly intrusive?: boolean | undefined;
  /**
   * Whether rows wait for the API: until it fetches keys again, and until the keys that it has are too old. It takes up
   * to an hour. Defaults to false.
   */
  readonly patient?: boolean | undefined;
  /** The library or server that checks the tokens, such as `pyjwt`: the report names its settings. */
  readonly stack?: string | undefined;
  /** Ends the run, with the report so far. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each response, for rules that an API has beyond the standards, such as the format of its errors. */
  readonly onResponse?: ((response: ProbeResponse) => void) | undefined;
  /** Called after each row. */
  readonly onRow?: ((row: ProbedRow, total: number) => void) | undefined;
}

/** A response, and the request that caused it. */
export interface ProbeResponse {
  /** The ID of the row. */
  readonly row: string;
  /** The method of the request. */
  readonly method: string;
  /** The URL of the request. */
  readonly url: string;
  /** The status of the response. */
  readonly status: number;
  /** The headers of the response. */
  readonly headers: Headers;
  /** The beginning of the body. */
  readonly text: string;
}

/** An operation that requires a token. */
export interface ProbeTarget {
  /** The URL that is requested. */
  readonly url: string;
  /** Defaults to GET. Only a method that is named is sent. */
  readonly method?: string | undefined;
  /** The scope that it requires, or several. Without, rows on scopes are skipped. */
  readonly scope?: string | readonly string[] | undefined;
  /** The body of each request. */
  readonly body?: string | undefined;
}

/** As above, with its defaults. */
export type Target = Required<Pick<ProbeTarget, 'url' | 'body'>> & { readonly method: string; readonly scope: string };

/** Returns the targets of a list. */
export function targetsOf(given: readonly (string | ProbeTarget)[]): readonly Target[] {
  return given.map((one) => {
    const { url, method = 'GET', scope = [], body } = typeof one === 'string' ? { url: one } : one;
    const { protocol, username, password } = new URL(URL.canParse(url) ? url : 'none:');
    // Credentials and a query may be secrets.
    const shown = url.replace(/^.*@/s, '***@').replace(/([?#]).*/s, '$1***');
    if (!/^https?:$/.test(protocol) || username + password !== '')
      throw new TypeError(
        `Cannot probe "${printable(shown)}": a target's url must be an http or https URL without credentials`,
      );
    return { url, method: method.toUpperCase(), scope: [scope].flat().join(' '), body };
  });
}
