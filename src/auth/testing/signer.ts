// Without a type of Node.js, because declarations that lead here are also read without @types/node.

/** How long issued tokens are valid by default. */
export const lifetimeSeconds = 3600;

/** Returns the time as tokens have it: seconds since 1970. */
export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A private key in memory, and its public half as a JWK. */
export interface Signer {
  readonly jwk: Readonly<Record<string, unknown>>;
  /** The thumbprint of the key: an API that has cached another key of the same name would reject its tokens. */
  readonly kid: string;
  /** Returns a JWT that is signed regardless of its header. Undefined members are left out. */
  sign(header: object, claims: object): string;
}
