import pino, { type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { createDestination, type Destination } from './destination.ts';

export type Log = Logger;

export interface LogFormat {
  /** Writes readable lines instead of JSON. */
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
}

/** Returns a log that writes JSON lines, or readable lines on a terminal, to `destination`, which defaults to standard output. */
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

/** Replaces pino's own serializer, which copies all properties of an error. Errors of jose contain the claims of the token. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  return { type: name, message, stack, ...(cause !== undefined && { cause: describeError(cause) }) };
}
