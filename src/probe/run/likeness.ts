import type { Answer } from '../row/row.ts';
import { parseObject } from '../values/json.ts';

// Here is decided whether a response is that of a good token.

/**
 * Returns whether a response is one of those that good tokens got: the same bytes if these two had the same, and
 * otherwise the same form, because each response of the API has something of its own, such as a clock or the ID of a
 * request, or nothing.
 */
export function likenessTo(first: Answer | undefined, second: Answer | undefined) {
  if (first?.outcome !== 'served') return () => false;
  const areSame = first.text !== '' && first.text === second?.text;
  return (answer: Answer) =>
    answer.outcome === 'served' && (areSame ? answer.text === first.text : formOf(answer) === formOf(first));
}

/** Returns the status, the media type, and the names of the members if it is an object of JSON. */
function formOf({ status, headers, text }: Answer): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim();
  return JSON.stringify([status, type, text === '', Object.keys(parseObject(text) ?? {}).toSorted()]);
}
