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
  const [low, high] = [from, to].map((part) => Math.floor(part * text.length)).sort((a, b) => a - b) as [
    number,
    number,
  ];
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
export const EDITS = {
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
