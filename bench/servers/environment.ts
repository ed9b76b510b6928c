const need = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`Set ${name}`);
  return value;
};

/** An answer of the service, as it was received. */
export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
  readonly headers: readonly (readonly [string, string])[];
}
export type Answers = Readonly<Record<'public' | 'private' | 'refusal', Answer>>;

/** The settings of every server under test, with the names of the service's own settings where it has them. */
export const port = Number(need('PORT'));
export const hostname = '127.0.0.1';
export const issuer = need('ISSUER');
export const audience = need('AUDIENCE');
export const jwksUri = need('JWKS_URI');

export const answers: Answers = JSON.parse(need('ANSWERS'));
/** Each server sends the same bodies. */
export const publicMessage = answers.public.body;
export const privateMessage = answers.private.body;
