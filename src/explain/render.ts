import { escapeUnprintable } from '../observe/escape.ts';
import type { ExplainedCheck, Explanation } from './explain.ts';

const colours: Readonly<Record<ExplainedCheck['verdict'], number>> = { passed: 32, rejected: 31, 'not reached': 2 };

/** Longer values of a token are cut. */
const maxValueLength = 100;

/** Returns an explanation as lines for a terminal, a line for each check. */
export function renderExplanation({ checks, status, code, advice }: Explanation, hasColour: boolean): string {
  const paint = (colour: number, text: string) => (hasColour ? `\u001b[${colour}m${text}\u001b[0m` : text);
  const rows = checks.map(({ name, has, verdict, words }) => ({
    name,
    has: printable(has),
    verdict,
    words: printable(words),
  }));
  const width = Math.max(...rows.map(({ has }) => has.length));
  const lines = rows.map(
    ({ name, has, verdict, words }) => `${name.padEnd(12)}${has.padEnd(width + 2)}${paint(colours[verdict], words)}`,
  );
  const answer = `${status}${code === undefined ? '' : ` ${code}`}: ${advice}`;
  const last = paint(colours[status === 200 ? 'passed' : 'rejected'], printable(answer, 1000));
  return [...lines, last, ''].join('\n');
}

/** Tokens choose their characters, and a terminal interprets some. */
function printable(text: string, maxLength = maxValueLength): string {
  const escaped = escapeUnprintable(text).replaceAll('\n', '\\n');
  return escaped.length > maxLength ? `${escaped.slice(0, maxLength)}…` : escaped;
}
