import { type IssuerMode, type KeyServer, serveKeys } from '../../src/probe/issuer/served-issuer.ts';
import { signingKeys } from './mint.ts';

export type Issuer = KeyServer;
export type { IssuerMode };

/** Starts a key-set endpoint on loopback, by default with the key of test tokens. */
export const startIssuer = (keys: readonly unknown[] = signingKeys()): Promise<Issuer> => serveKeys(keys);
