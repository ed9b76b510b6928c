// What the report says of a row: no type of Node.js, because applications read these declarations.

/** `must` is what a standard demands, `should` what it or good practice recommends. */
export type Level = 'must' | 'should';
/** What a row needs: only the URL, a good token of any issuer, or an issuer whose key signs what the row wants. */
export type Needs = 'nothing' | 'token' | 'issuer';
/** Where standards differ: which of them decides what is a `must`. */
export type Profile = 'rfc6750' | 'rfc9068' | 'mcp' | 'fapi2';

/** What a row says of itself, and a report of it. */
export interface RowDescription {
  /** Stable: for lists of known deviations. */
  readonly id: string;
  /** The standard and section that demand it. */
  readonly rule: string;
  /** Whether the standard says must or should. */
  readonly level: Level;
  /** What the probe must have to send it. */
  readonly needs: Needs;
  /** What is sent. */
  readonly sent: string;
  /** What the standard demands. */
  readonly expected: string;
  /** What to set, in a library, a framework or a proxy. */
  readonly remedy: string;
  /** What to write instead, where the validation is one's own. */
  readonly ownCode?: string | undefined;
}
