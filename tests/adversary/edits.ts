import fc from 'fast-check';

/** A member of a JSON object by its text, so that names can repeat and numbers need not fit. */
export type Member = readonly [name: string, valueText: string];

export interface Change {
  readonly how: 'set' | 'append' | 'prepend' | 'remove';
  readonly member: Member;
}

export const json = (value: unknown) => JSON.stringify(value);

/** Returns the text of an object after these changes. */
export function apply(members: readonly Member[], changes: readonly Change[]): string {
  let result = members;
  for (const { how, member } of changes) {
    const others = result.filter(([name]) => name !== member[0]);
    if (how === 'remove') result = others;
    else if (how === 'set') result = [...others, member];
    else result = how === 'append' ? [...result, member] : [member, ...result];
  }
  return `{${result.map(([name, text]) => `${json(name)}:${text}`).join(',')}}`;
}

export const ODD_VALUES = ['" "', ...'null true false 0 -1 -0 "" [] {} [[]] 1e400 -1e400 1e308'.split(' ')];

export const oneOf = (name: string, values: readonly unknown[]): fc.Arbitrary<Member> =>
  fc.constantFrom(...values.map(json), ...ODD_VALUES).map((text): Member => [name, text]);
export const anyMember = (names: readonly string[]): fc.Arbitrary<Member> =>
  fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), fc.jsonValue().map(json));

/** An empty list is `weight` times as likely as any other, so that about a third of the results are valid. */
export const few = <Value>(value: fc.Arbitrary<Value>, maxLength: number, weight: number): fc.Arbitrary<Value[]> =>
  fc.oneof(
    { weight: 2 * weight, arbitrary: fc.constant<Value[]>([]) },
    { weight: 2, arbitrary: fc.array(value, { minLength: 1, maxLength }) },
  );
export const changesOf = (member: fc.Arbitrary<Member>, maxLength: number, weight: number) =>
  few(fc.record<Change>({ how: fc.constantFrom('set', 'append', 'prepend', 'remove'), member }), maxLength, weight);

/** Where something is changed, as a fraction of the length. */
export const place = fc.double({ min: 0, max: 0.999999, noNaN: true });

/** The place of an edit as a fraction of the length, and what is inserted there. */
interface Place {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** A change to a finished token: readable, so that a counterexample can be understood. */
export interface Edit extends Place {
  readonly how: keyof typeof EDITS;
}

const splitAt = (text: string, { from, to }: Place): readonly [string, string, string] => {
  const [low = 0, high = 0] = [from, to].map((part) => Math.floor(part * text.length)).sort((a, b) => a - b);
  return [text.slice(0, low), text.slice(low, high), text.slice(high)];
};

/** Changes one of the token's parts, chosen by `from`. */
const inPart = (change: (part: string, edit: Place) => string) => (token: string, edit: Place) => {
  const parts = token.split('.');
  const chosen = Math.floor(edit.from * parts.length);
  return parts.map((part, at) => (at === chosen ? change(part, edit) : part)).join('.');
};

const inBytes = (change: (bytes: Buffer, at: number) => void) =>
  inPart((part, { to }) => {
    const bytes = Buffer.from(part, 'base64url');
    if (bytes.length > 0) change(bytes, Math.floor(to * bytes.length));
    return bytes.toString('base64url');
  });

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const nextLetter = (letter: string) => ALPHABET[(ALPHABET.indexOf(letter) + 1) % ALPHABET.length] ?? 'A';

/** Changes to the finished token, at the level of its characters, its bytes and its parts. */
const EDITS = {
  replace: (token: string, edit: Place) => {
    const [before, , after] = splitAt(token, { ...edit, to: edit.from });
    return before + edit.text + after.slice(edit.text.length);
  },
  insert: (token: string, edit: Place) => splitAt(token, { ...edit, to: edit.from }).join(edit.text),
  cut: (token: string, edit: Place) => splitAt(token, edit).toSpliced(1, 1).join(''),
  repeat: (token: string, edit: Place) => splitAt(token, edit).toSpliced(1, 0, splitAt(token, edit)[1]).join(''),
  truncate: (token: string, edit: Place) => splitAt(token, edit)[0],
  'swap case': (token: string, edit: Place) => {
    const [before, middle, after] = splitAt(token, { ...edit, to: Math.min(1, edit.from + 0.002) });
    // Only ASCII: other letters can change into ones that no header value has.
    return (
      before +
      middle.replace(/[a-z]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase())) +
      after
    );
  },
  'flip a bit': inBytes((bytes, at) => bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)),
  'zero the rest': inBytes((bytes, at) => bytes.fill(0, at)),
  'last letter up': inPart((part) => part.slice(0, -1) + nextLetter(part.slice(-1))),
  pad: inPart((part) => `${part}${'='.repeat((4 - (part.length % 4)) % 4)}`),
  'standard alphabet': inPart((part) => part.replaceAll('-', '+').replaceAll('_', '/')),
  'replace part': inPart((_, { text }) => text),
  'empty part': inPart(() => ''),
  'drop part': (token: string, { from }: Place) =>
    token
      .split('.')
      .toSpliced(Math.floor(from * 3), 1)
      .join('.'),
  'add part': (token: string, { from, text }: Place) =>
    token
      .split('.')
      .toSpliced(Math.floor(from * 4), 0, text)
      .join('.'),
  'reverse parts': (token: string) => token.split('.').reverse().join('.'),
} as const satisfies Record<string, (token: string, edit: Place) => string>;

/** Characters that a header value may have, and some that base64url has not. */
const letters = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...'ABCxyz019-_.'), minLength: 1, maxLength: 4 }) },
  fc.string({ unit: fc.constantFrom(...'=+/ ~,;:"\\%{}[]\t\u00e9\u00ff'), minLength: 1, maxLength: 3 }),
  fc.constantFrom('e30', 'eyJhbGciOiJub25lIn0', 'AA', 'AAAA', 'null', ', '),
);
const edit = fc.record<Edit>({
  how: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...(Object.keys(EDITS) as (keyof typeof EDITS)[])) },
    // The rarest edits that leave all but the signature valid.
    fc.constantFrom<keyof typeof EDITS>('flip a bit', 'zero the rest'),
  ),
  from: place,
  to: place,
  text: letters,
});
export const editsOf = (weight: number) => few(edit, 2, weight);
export const edited = (text: string, edits: readonly Edit[]) =>
  edits.reduce((result, change) => EDITS[change.how](result, change), text);
