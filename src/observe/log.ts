import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/** Returns a log on standard output: JSON lines, or lines for a person on a terminal. Writes at once, so that nothing is lost at exit. */
export function createLog(level: string, terminal: { readonly isTerminal: boolean; readonly hasColour: boolean }): Log {
  const destination = terminal.isTerminal
    ? pretty({ colorize: terminal.hasColour, translateTime: 'SYS:HH:MM:ss', singleLine: true, sync: true })
    : pino.destination({ dest: 1, sync: true });
  return pino(
    {
      level,
      base: null,
      serializers: { err: describeError },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

/** Not pino's own serializer: it copies every property of an error, and jose's errors carry the claims of the token. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  return { type: name, message, stack, ...(cause !== undefined && { cause: describeError(cause) }) };
}
