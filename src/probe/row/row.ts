import type { Base, Change, Forgery } from '../forge/forge.ts';
import type { Received } from '../http/sender.ts';
import type { KeyServer } from '../issuer/served-issuer.ts';
import type { Members } from '../values/json.ts';
import type { Level, Profile, RowDescription } from './description.ts';

// Here is what a row is. Which rows there are is in tokens/ and requests/; when a row is tried is decided in run/.

/** One request. By default, it has no credentials. `TOKEN` in its headers, query and body stands for a good token. */
export interface Attempt {
  /** Presented as good tokens are: as a bearer token, or with a proof. */
  readonly token?: Forgery;
  readonly scheme?: 'Bearer' | 'DPoP';
  /** Proofs for this request, changed: by default one if the scheme is DPoP. */
  readonly proofs?: readonly Change[];
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly method?: string;
  /** Changes the path of the URL. */
  readonly path?: (path: string) => string;
  /** Added to the query of the URL. */
  readonly query?: string;
  readonly body?: string;
  /** How long the body of the response may take. Defaults to two seconds. */
  readonly bodyMs?: number;
}

/** What came back, and what it means. */
export interface Answer extends Received {
  /** `served` is the class of status of a good token, `rejected` any other up to 499 but 429, `unclear` the rest. */
  readonly outcome: 'served' | 'rejected' | 'unclear';
}

export interface Finding {
  readonly verdict: 'passed' | 'failed' | 'skipped' | 'inconclusive';
  /** What came, or why the row was skipped. */
  readonly got: string;
}

/** Waits for an API in ways that take minutes. */
export interface Patience {
  /** Waits until something is so, or cannot be expected any more. */
  until(isDone: () => Promise<boolean>): Promise<void>;
  /** Waits until keys that were fetched are too old. */
  age(): Promise<unknown>;
}

/** A target under test, and what a row can do with it. */
export interface Trial {
  readonly base: Base;
  readonly url: string;
  readonly method: string;
  /** The body that a good token comes with. */
  readonly body: string | undefined;
  readonly profile: Profile | undefined;
  /** The responses of the controls: to a good token (if there is one), and without credentials. */
  readonly good: Answer | undefined;
  readonly bare: Answer;
  /** Whether a response is that of a good token: in its bytes, or in its form if other paths do not respond so. */
  isProtected(answer: Answer): Promise<boolean>;
  /** Whether a response has the content of that of a good token, alone or beside other text. */
  isShown(answer: Answer): boolean;
  /** Whether time passes for this API as it does for the probe. */
  readonly canWait: boolean;
  /** Whether rows may wait for time to pass, which they do at one target only. */
  readonly isPatient: boolean;
  wait(ms: number): Promise<unknown>;
  /** How rows wait until the API fetches keys, if they may. */
  readonly patience: Patience | undefined;
  /** The issuer, if it can be reached over the network. */
  readonly server: KeyServer | undefined;
  /** Whether the API has fetched the keys that the issuer publishes beside its own. */
  hasSideKeys(): boolean;
  /** Whether floods and huge headers may be sent. */
  readonly isIntrusive: boolean;
  /** The scheme in which good tokens are presented. */
  readonly scheme: 'Bearer' | 'DPoP';
  /** Whether the challenge or the metadata name DPoP. */
  readonly hasDpop: boolean;
  /** The metadata (RFC 9728) and their URL, if there are any on this host. */
  readonly metadata: Members | undefined;
  readonly metadataUrl: string | undefined;
  /** The newest nonce for proofs that the target gave out. */
  nonce(): string | undefined;
  send(attempt: Attempt): Promise<Answer>;
  /** As `send`, but a request that several rows have in common is sent once. */
  sendOnce(attempt: Attempt): Promise<Answer>;
  /** Reads another URL of the same host without credentials. */
  read(url: string): Promise<Answer>;
}

export interface Row<Id extends string = string> extends RowDescription {
  readonly id: Id;
  /** The profile that has it, if others do not. */
  readonly onlyIn?: Profile | undefined;
  /** Levels in profiles that differ. */
  readonly profiles?: Readonly<Partial<Record<Profile, Level>>> | undefined;
  /** The changes to a good token, if that is what is sent. */
  readonly forgeries?: readonly Forgery[] | undefined;
  /** Returns why the row does not apply. */
  readonly skip?: ((trial: Trial) => string | undefined) | undefined;
  /** Whether an API may not recover from it: a control comes next, by a key of a new name if need be. */
  readonly disturbs?: boolean | undefined;
  /** Whether it makes the API fetch keys, for which a patient run waits. */
  readonly fetches?: boolean | undefined;
  /** How many requests it sends at most, apart from those that are repeated with a nonce or after a limit. */
  readonly requests: number;
  readonly run: (trial: Trial) => Promise<Finding>;
}

/** The subject of good tokens, by which a response to another client is noticed. */
export const controlSubject = 'probe-control';
