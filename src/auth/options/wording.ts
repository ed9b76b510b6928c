/*
 * What a message says of an option that is missing or not valid: one sentence, whether the option was given in code or
 * as a setting. How its value is described is decided where it was read.
 */

/** How options are named and written where the message is read. */
export interface Words {
  /** Whether they are options in code, and not settings in an environment. */
  readonly areInCode: boolean;
  /** Returns `jwksUri`, or `JWKS_URI`. */
  readonly nameOf: (option: string) => string;
  /** Returns `jwksAllowHttp: true`, or `JWKS_ALLOW_HTTP=true`. */
  readonly set: (option: string, value: string) => string;
}

export const inCode: Words = {
  areInCode: true,
  nameOf: (option) => option,
  set: (option, value) => `${option}: ${value}`,
};

/** A part of a message. A function names other options, or says which forms the value has. */
export type Sentence = string | ((words: Words) => string);

export const say = (sentence: Sentence, words: Words): string =>
  typeof sentence === 'string' ? sentence : sentence(words);

/** What the message for a value that is not valid says. */
export interface Wording {
  /** Completes the sentence "… must be …". */
  readonly expected: Sentence;
  /** What is wrong with this value, such as `must begin with https://`, instead of that sentence. */
  readonly fault?: string | undefined;
  /** Completes the sentence "… is required: …", with an example. */
  readonly required?: string | undefined;
  /** A sentence at the end of the message. */
  readonly advice?: Sentence | undefined;
}

/** Returns the message for an option, whose value is described. It is undefined for one that is missing. */
export function describeProblem(option: string, wording: Wording, found: string | undefined, words: Words): string {
  const { expected, fault, required, advice } = wording;
  const name = words.nameOf(option);
  if (found === undefined && required !== undefined) return `${name} is required: ${required}`;
  if (found === undefined) return `${name} must be ${say(expected, words)}`;
  const end = advice === undefined ? '' : `. ${say(advice, words)}`;
  return `${name} ${fault ?? `must be ${say(expected, words)}`}, got ${found}${end}`;
}
