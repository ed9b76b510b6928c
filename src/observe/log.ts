import pino, { type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { createDestination, type Destination } from './destination.ts';

export type Log = Logger;

export interface LogFormat {
  /** Lines for a person instead of JSON. */
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
}

/** Returns a log on `destination`, standard output by default: JSON lines, or lines for a person on a terminal. */
export function createLog(level: string, format: LogFormat, destination: Destination = createDestination()): Log {
  const log = pino(
    {
      level,
      base: null,
      serializers: { err: describeError },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    format.isTerminal ? prettify(destination, format.hasColour) : destination,
  );
  destination.onRecovered((lines) => log.error({ lines }, 'Log lines were dropped'));
  return log;
}

function prettify(destination: Destination, hasColour: boolean) {
  const pretty = prettyFactory({ colorize: hasColour, translateTime: 'SYS:HH:MM:ss', singleLine: true });
  return { write: (line: string) => destination.write(pretty(line)) };
}

/** Not pino's own serializer: it copies every property of an error, and jose's errors carry the claims of the token. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  return { type: name, message, stack, ...(cause !== undefined && { cause: describeError(cause) }) };
}
