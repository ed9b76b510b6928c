import type { Answer } from '../row/row.ts';
import { isJsonObject, parseObject } from '../values/json.ts';

// Here is decided whether a response is that of a good token, or has its content.

/** What good tokens got, twice, and what is the same for everybody. */
interface Seen {
  readonly first: Answer | undefined;
  readonly second: Answer | undefined;
  readonly bare: Answer;
}

/**
 * Returns whether a response is one of those that good tokens got: `bytes` if it is the same text and these two had
 * the same, and `form` if it has the same members, or most of the words, because each response may have something of
 * its own, such as a clock, the ID of a request or the name of a user.
 */
export function likenessTo({ first, second, bare }: Seen): (answer: Answer) => 'bytes' | 'form' | undefined {
  if (first?.outcome !== 'served') return () => undefined;
  const areSame = first.text !== '' && first.text === second?.text;
  const [form, isObject] = [formOf(first), parseObject(first.text) !== undefined];
  return (answer) => {
    if (answer.outcome !== 'served') return undefined;
    if (areSame && answer.text === first.text) return 'bytes';
    if (formOf(answer) !== form) return undefined;
    // Nothing but a status is no likeness if there is usually more.
    return !areSame || isObject || hasMostWords(answer.text, first.text, bare.text) ? 'form' : undefined;
  };
}

/** Returns the status, the media type, and the names of the members if it is JSON. */
export function formOf({ status, headers, text }: Answer): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim();
  return JSON.stringify([status, type, text === '', namesIn(parseObject(text), 3)]);
}

/** Returns the names of the members of an object, and of those in it. What a list has may differ each time. */
function namesIn(value: unknown, depth: number): unknown {
  if (!isJsonObject(value) || depth === 0) return null;
  const names = Object.keys(value).toSorted();
  return names.map((name) => [name, namesIn(value[name], depth - 1)]);
}

const wordsIn = (text: string) => new Set(text.match(/[\p{L}\p{N}]+/gu) ?? []);
const leastWords = 3;
const mostOf = 0.8;
/** Whether a text has most of the words of another, beside those that everybody is shown. */
function hasMostWords(text: string, of: string, shown: string): boolean {
  const [has, isShown] = [wordsIn(text), wordsIn(shown)];
  const own = [...wordsIn(of)].filter((word) => !isShown.has(word));
  return own.length >= leastWords && own.filter((word) => has.has(word)).length >= own.length * mostOf;
}

/** How long a value is at least that no other response has by chance. */
const valueLength = 8;
/**
 * Returns whether a response has the content of the response to a good token, alone or beside other text: the text, or
 * each of two or more long values of it.
 */
export function contentOf({ first, second, bare }: Seen): (answer: Answer) => boolean {
  const text = first?.text.trim() ?? '';
  const leaves = (of: string) => new Set(of.match(/[^\s"'<>{}[\],:]+/g)?.filter(({ length }) => length >= valueLength));
  const [again, shown] = [leaves(second?.text ?? ''), leaves(bare.text)];
  const values = [...leaves(text)].filter((value) => again.has(value) && !shown.has(value));
  return (answer) =>
    (text.length > 20 && answer.text.includes(text)) ||
    (values.length > 1 && values.every((value) => answer.text.includes(value)));
}
