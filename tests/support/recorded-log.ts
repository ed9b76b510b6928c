import { BoundedDestination } from '../../src/observe/destination.ts';
import { createLog } from '../../src/observe/log.ts';

/** As JSON lines, which are the same on every machine. */
export const plainFormat = { isTerminal: false, hasColour: false };

export function recordLog(level: string, format = plainFormat) {
  const lines: string[] = [];
  const destination = new BoundedDestination({
    write(bytes, done) {
      lines.push(new TextDecoder().decode(bytes));
      done(null, bytes.length);
    },
  });
  return { log: createLog(level, format, destination), lines };
}

/** Returns the objects of JSON lines. Fails if anything else is among them. */
export const readJsonLines = (text: string): Record<string, unknown>[] =>
  Array.from(text.trim().split('\n'), (line) => JSON.parse(line));
