import { join } from 'node:path';
import type { Configuration } from 'openid-client';
import type { GuardOptions, RejectionReason } from '../../../src/auth/types.ts';
import { discover, forApplication, forUser, introspector } from '../client.ts';
import type { seen } from './seen.ts';
import type { Started } from './start.ts';

/*
 * What the tests need to know of a server, and what most servers have in common. What was seen of each is in seen.ts.
 */

export type Settings = Readonly<Record<string, string>>;

/** The decision of a guard: accepted, accepted without the scope, or why not. */
export type Decided = 'accepted' | 'withoutScope' | RejectionReason;

/** With what a token is sent, besides itself, and whether the server is asked about it. */
export type Sent = 'proof' | 'certificate' | 'anotherCertificate' | 'introspected';

/** With settings that replace those of the page. An empty kind is the row's own name. */
export type Expected = Decided | readonly [decided: Decided, settings: Settings, kind?: string, sent?: Sent];

export type Tokens = Readonly<Record<string, string | undefined>>;

export interface RealServer {
  readonly name: keyof typeof seen;
  readonly version: string;
  /** Its page in `docs/issuers`, whose settings are used; the index if it has none. */
  readonly page?: string;
  /** The programs that the machine must have. */
  readonly needs: readonly string[];
  /** Returns the command, after what it needs has been got. */
  readonly command: () => Promise<readonly string[]>;
  readonly settings: Settings;
  /** Returns the hook for tokens that are not JWTs. Without `isOpaque`, its other tokens are JWTs. */
  readonly introspect?: (started: Started) => GuardOptions['introspect'];
  readonly isOpaque?: true;
  /** Returns an access token that is accepted. */
  readonly application: (started: Started) => Promise<string>;
  /** Returns every other kind of token that it gives out. */
  readonly others: (started: Started) => Promise<Tokens>;
  /** The decision for each kind of token. */
  readonly expected: Readonly<Record<string, Expected>>;
}

/** Returns the rows of what is expected of a server, each complete. */
export const rowsOf = ({ expected }: Pick<RealServer, 'expected'>) =>
  Object.entries(expected).map(([name, row]) => {
    const [decided, settings = {}, kind = '', sent] = typeof row === 'string' ? ([row] as const) : row;
    return { name, decided, settings, kind: kind || name, sent };
  });

export const script = (name: string) => join(import.meta.dir, name);
export const secretOf = (id: string) => ({ id, secret: `${id}-secret` });
export const READ = 'read:messages';

export const clientsOf = ({ issuer }: Pick<Started, 'issuer'>) =>
  Promise.all([discover(issuer, secretOf('reader')), discover(issuer, secretOf('visitor'))]);

/** Returns an access token of the client `reader`. */
export const readerToken =
  (parameters: Settings = {}) =>
  async ({ issuer }: Started) =>
    forApplication(await discover(issuer, secretOf('reader')), { scope: READ, ...parameters });

/** Returns the tokens that most servers give out besides: of a user, and of another client. */
export async function usualTokens(reader: Configuration, visitor: Configuration, parameters: Settings = {}, more = '') {
  const user = await forUser(reader, 'ada', { scope: `openid ${READ}${more}`, ...parameters });
  return {
    user: user.access_token,
    idToken: user.id_token,
    refreshToken: user.refresh_token,
    anotherClient: await forApplication(visitor),
  };
}

const dpop = { DPOP: 'on', PUBLIC_URL: 'https://api.example.com' };

/** A token `bound` with DPoP: with its proof, without, and to a guard that has DPoP off. */
export const boundRows = {
  bound: 'token_bound',
  boundWithProof: ['accepted', dpop, 'bound', 'proof'],
  boundWithoutProof: ['token_key_bound', dpop, 'bound'],
} as const satisfies Record<string, Expected>;

const certificates = { CLIENT_CERTIFICATE: 'client-cert' };

/** A token `certified`: with its certificate, without, with another, and to a guard that reads none. */
export const certifiedRows = {
  certified: 'token_bound',
  certifiedWithCertificate: ['accepted', certificates, 'certified', 'certificate'],
  certifiedWithoutCertificate: ['certificate_missing', certificates, 'certified'],
  certifiedWithAnother: ['certificate_mismatch', certificates, 'certified', 'anotherCertificate'],
} as const satisfies Record<string, Expected>;

/** A user who has the role for the scope, and one who has not, where this claim lists roles. */
export const roleRows = (claim: string) =>
  ({
    userWithRole: ['accepted', { SCOPE_CLAIM: claim }, 'user'],
    userWithoutRole: ['withoutScope', { SCOPE_CLAIM: claim }],
  }) as const satisfies Record<string, Expected>;

/** An `opaque` token: without the hook, and with it. */
export const opaqueRows = {
  opaque: 'token_opaque',
  opaqueIntrospected: ['accepted', {}, 'opaque', 'introspected'],
} as const satisfies Record<string, Expected>;

/** Returns the hook that asks the endpoint as this client, and adds what the response lacks. */
export const asksAt =
  (path: string, id: string, more: object = {}) =>
  ({ issuer }: Started) =>
    introspector(issuer.replace(/\/$/, '') + path, secretOf(id), more);
