import { write } from 'node:fs';

export interface DestinationOptions {
  /**
   * Maximum number of characters that wait for a write in progress; further lines are dropped. Defaults to 1,048,576.
   */
  readonly maxWaiting?: number;
  /** Writes the beginning of `bytes`, and calls back with the number of bytes written. Defaults to standard output. */
  readonly write?: (bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void;
  /** Calls back after a pause. Used if a non-blocking descriptor is full. */
  readonly pause?: (callback: () => void) => void;
}

const newline = 0x0a;

/**
 * A destination of log lines that cannot stop or block the service: one write at a time, outside the event loop, and a
 * bounded buffer. A line that cannot be written is counted and dropped at once, so that an alert sees a broken log.
 */
export class BoundedDestination {
  readonly #options: Required<DestinationOptions>;
  #waiting = '';
  #isWriting = false;
  /** Whether the last write ended in the middle of a line. The next one then starts with a newline. */
  #isTorn = false;
  #dropped = 0;
  #reported = 0;
  #flushed: (() => void)[] = [];
  #recovered: (lines: number) => void = () => {};

  constructor(options: DestinationOptions = {}) {
    this.#options = {
      maxWaiting: 1024 * 1024,
      write: (bytes, done) => write(1, bytes, 0, bytes.length, null, done),
      pause: (callback) => void setTimeout(callback, 50).unref(),
      ...options,
    };
  }

  /** Accepts a line that ends with a newline. Never blocks and never throws. */
  write(line: string): void {
    if (this.#waiting.length + line.length > this.#options.maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting += line;
    if (!this.#isWriting) this.#begin(this.#takeWaiting());
  }

  /** Calls back once all accepted lines are written or dropped. */
  flush(done: () => void): void {
    if (this.#isWriting) this.#flushed.push(done);
    else done();
  }

  /** Returns the number of lines that could not be written. */
  droppedLines = (): number => this.#dropped;

  /** Calls back with the number of lines dropped since the last call, once lines can be written again. */
  onRecovered(listener: (lines: number) => void): void {
    this.#recovered = listener;
  }

  #takeWaiting(): string {
    const text = this.#waiting;
    this.#waiting = '';
    return text;
  }

  #begin(text: string): void {
    this.#isWriting = text !== '';
    if (this.#isWriting) this.#writeFrom(Buffer.from(this.#isTorn ? `\n${text}` : text), 0);
    else for (const done of this.#flushed.splice(0)) done();
  }

  #writeFrom(bytes: Buffer, offset: number): void {
    this.#options.write(bytes.subarray(offset), (error, written) => {
      if (error?.code === 'EAGAIN') this.#options.pause(() => this.#writeFrom(bytes, offset));
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
