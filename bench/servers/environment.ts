const need = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`Set ${name}`);
  return value;
};

export interface Received {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
  readonly headers: readonly (readonly [string, string])[];
}
export type Responses = Readonly<Record<'public' | 'private' | 'rejection', Received>>;

/** The settings of every server under test, with the names of the service's own settings where it has them. */
export const port = Number(need('PORT'));
export const hostname = '127.0.0.1';
export const issuer = need('ISSUER');
export const audience = need('AUDIENCE');
export const jwksUri = need('JWKS_URI');

export const responses: Responses = JSON.parse(need('RESPONSES'));
