import pino, { type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { BoundedDestination } from './destination.ts';
import { escapeUnprintable } from './escape.ts';

export type Log = Logger;

/** Levels in the words of Google Cloud, which ignores `level`. */
const severities: Readonly<Record<string, string>> = {
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

/**
 * Returns a log that writes JSON lines, or readable ones on a terminal, without characters that a terminal interprets.
 */
export function createLog(
  level: string,
  format: { readonly isTerminal: boolean; readonly hasColour: boolean },
  destination = new BoundedDestination(),
): Log {
  // A JSON parser reads these escapes as the same characters.
  const toText = format.isTerminal ? createPrettifier(format.hasColour) : escapeUnprintable;
  const stream = {
    write: (line: string) => destination.write(toText(line)),
    flush: (done: () => void) => destination.flush(done),
  };
  const log = pino(
    {
      level,
      base: null,
      serializers: { err: (error) => describeError(error) },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => (format.isTerminal ? { level: label } : { level: label, severity: severities[label] }),
      },
    },
    stream,
  );
  destination.onRecovered((lines) => log.error({ lines }, 'Log lines were dropped'));
  return log;
}

function createPrettifier(hasColour: boolean): (line: string) => string {
  const prettify = prettyFactory({ colorize: hasColour, translateTime: 'SYS:HH:MM:ss', singleLine: true });
  // Escaped before the colours are added, which are control characters as well.
  const escapeText = (_key: string, value: unknown) => (typeof value === 'string' ? escapeUnprintable(value) : value);
  return (line) => prettify(JSON.parse(line, escapeText));
}

/** Replaces pino's serializer, which copies all properties of an error: those of jose contain claims. */
function describeError(error: unknown, causes = 8): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  // An error can be its own cause, through others.
  const hasCause = cause !== undefined && causes > 0;
  return { type: name, message, stack, ...(hasCause && { cause: describeError(cause, causes - 1) }) };
}
