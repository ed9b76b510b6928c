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

/** The service's own two answers: each server sends the same bytes. */
export const publicMessage = { message: need('PUBLIC_MESSAGE') };
export const privateMessage = { message: need('PRIVATE_MESSAGE') };
