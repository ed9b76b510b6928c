import { readFileSync } from 'node:fs';

const need = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`Set ${name}`);
  return value;
};

/** The settings of every server under test, with the names of the service's own settings where it has them. */
export const port = Number(need('PORT'));
export const hostname = '127.0.0.1';
export const issuer = need('ISSUER');
export const audience = need('AUDIENCE');
export const jwksUri = need('JWKS_URI');

/** The key set as text, for servers that are given their keys and fetch none. */
export const localJwks = (): string => need('LOCAL_JWKS');
export const publicKeyPem = (): string => readFileSync(need('PUBLIC_KEY_PEM_FILE'), 'utf8');

/** The service's own two answers: each server sends the same bytes. */
export const publicMessage = { message: need('PUBLIC_MESSAGE') };
export const privateMessage = { message: need('PRIVATE_MESSAGE') };
