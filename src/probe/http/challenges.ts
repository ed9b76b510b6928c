// Here WWW-Authenticate is parsed as RFC 9110 §11 has it, apart from the code that writes it.

/** A challenge, with its parameters in the order in which they came; names in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

const token = "[\\w!#$%&'*+.^`|~-]+";
const scheme = new RegExp(`^(${token})(?:[ \\t]+|$|(?=,))`);
const parameter = new RegExp(`^(${token})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|(${token}))[ \\t]*(?:,[ \\t,]*|$)`);
const token68 = /^[\w.~+/-]+=*[ \t]*(?:,[ \t]*|$)/;

/** Returns the challenges of a header, or undefined if they cannot be parsed. */
export function challengesIn(header: string | null): readonly Challenge[] | undefined {
  const found: { scheme: string; parameters: [string, string][] }[] = [];
  let rest = (header ?? '').replace(/^[ \t,]+/, '');
  while (rest !== '') {
    const pair = found.length > 0 ? parameter.exec(rest) : null;
    if (pair) {
      const [all, name = '', quoted, plain = ''] = pair;
      found.at(-1)?.parameters.push([name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain]);
      rest = rest.slice(all.length);
      continue;
    }
    const begun = scheme.exec(rest);
    if (!begun) return undefined;
    found.push({ scheme: begun[1] ?? '', parameters: [] });
    rest = rest.slice(begun[0].length).replace(/^[ \t]*,[ \t]*/, '');
    const credentials = parameter.test(rest) ? null : token68.exec(rest);
    // `Basic abc=`, or the next scheme.
    if (credentials && !scheme.test(rest.split('=')[0] ?? '')) return undefined;
  }
  return found;
}

/** Returns the challenges of Bearer and DPoP. Of several, one has the error (RFC 9449 §7.2). */
export const tokenChallengesIn = (header: string | null): readonly Challenge[] | undefined =>
  challengesIn(header)?.filter(({ scheme }) => /^(?:bearer|dpop)$/i.test(scheme));

/** Returns the first parameter of this name in any of the challenges. */
export const firstParameter = (challenges: readonly Challenge[], name: string): string | undefined =>
  challenges.flatMap(({ parameters }) => parameters).find(([each]) => each === name)?.[1];

/** Returns the first parameter of this name in any challenge of a header. */
export const parameterOf = (header: string | null, name: string): string | undefined =>
  firstParameter(challengesIn(header) ?? [], name);
