import { write as writeToDescriptor } from 'node:fs';

/** Like `write` of node:fs. */
type Write = (
  descriptor: number,
  bytes: Uint8Array,
  offset: number,
  length: number,
  position: null,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

export interface DestinationOptions {
  /** File descriptor to write to; defaults to 1, standard output. */
  readonly descriptor?: number;
  /** Maximum number of characters that wait for a write in progress; further lines are dropped. Defaults to 1,048,576. */
  readonly maxWaiting?: number;
  readonly write?: Write;
  /** Calls back after a pause. Used if a non-blocking descriptor is full. */
  readonly pause?: (callback: () => void) => void;
}

/** Writes log lines. */
export interface Destination {
  /** Accepts a line that ends with a newline. Never blocks and never throws. */
  write(line: string): void;
  /** Calls back once all accepted lines are written or dropped. */
  flush(done: () => void): void;
  /** Number of lines that could not be written. */
  readonly droppedLines: () => number;
  /** Calls back with the number of lines dropped since the last call, once lines can be written again. */
  onRecovered(listener: (lines: number) => void): void;
}

const newline = 0x0a;

/**
 * A destination that cannot stop or block the service. One write at a time is in progress, outside the event loop. Other lines
 * wait in a bounded buffer. A line that cannot be written is counted and dropped at once, so that an alert sees a broken log.
 */
export class BoundedDestination implements Destination {
  readonly #options: Required<DestinationOptions>;
  #waiting: string[] = [];
  #waitingLength = 0;
  #isWriting = false;
  /** Whether the last write ended in the middle of a line. The next one then starts with a newline. */
  #isTorn = false;
  #dropped = 0;
  #reported = 0;
  #flushed: (() => void)[] = [];
  #recovered: (lines: number) => void = () => {};

  constructor(options: DestinationOptions = {}) {
    const pause = (callback: () => void) => void setTimeout(callback, 50).unref();
    this.#options = { descriptor: 1, maxWaiting: 1024 * 1024, write: writeToDescriptor, pause, ...options };
  }

  write(line: string): void {
    if (this.#waitingLength + line.length > this.#options.maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    if (!this.#isWriting) this.#begin(this.#takeWaiting());
  }

  flush(done: () => void): void {
    if (this.#isWriting) this.#flushed.push(done);
    else done();
  }

  droppedLines = (): number => this.#dropped;

  onRecovered(listener: (lines: number) => void): void {
    this.#recovered = listener;
  }

  #takeWaiting(): string {
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingLength = 0;
    return text;
  }

  #begin(text: string): void {
    this.#isWriting = text !== '';
    if (this.#isWriting) this.#writeFrom(Buffer.from(this.#isTorn ? `\n${text}` : text), 0);
    else for (const done of this.#flushed.splice(0)) done();
  }

  #writeFrom(bytes: Buffer, offset: number): void {
    const { descriptor, write, pause } = this.#options;
    write(descriptor, bytes, offset, bytes.length - offset, null, (error, written) => {
      if (error?.code === 'EAGAIN') pause(() => this.#writeFrom(bytes, offset));
      else if (error) this.#failed(bytes, offset);
      else if (offset + written < bytes.length) this.#writeFrom(bytes, offset + written);
      else this.#succeeded();
    });
  }

  #failed(bytes: Buffer, offset: number): void {
    const lost = bytes.subarray(Math.max(offset, this.#isTorn ? 1 : 0));
    this.#dropped += lost.filter((byte) => byte === newline).length;
    if (offset > 0) this.#isTorn = bytes[offset - 1] !== newline;
    this.#begin(this.#takeWaiting());
  }

  #succeeded(): void {
    this.#isTorn = false;
    // Emptied before the loss is reported, so that the buffer has room for the report.
    const text = this.#takeWaiting();
    const lost = this.#dropped - this.#reported;
    this.#reported = this.#dropped;
    if (lost > 0) this.#recovered(lost);
    this.#begin(text || this.#takeWaiting());
  }
}
