interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  older: Entry<Value>;
  newer: Entry<Value>;
}

/** A map with limits of entries and of bytes, which its caller counts. The least recently used entry leaves first. */
export class RecentMap<Value> {
  /** Not in the order of use: a map whose keys are deleted and added at each use is slow. */
  readonly #entries = new Map<string, Entry<Value>>();
  /** Closes the ring of entries: the oldest one is newer than this, and the newest one older. */
  readonly #end = {} as Entry<Value>;
  bytes = 0;
  /** Called with what leaves because of a limit. */
  onEvict?: (key: string, value: Value) => void;

  constructor(
    readonly maxEntries: number,
    readonly maxBytes = Number.POSITIVE_INFINITY,
  ) {
    this.#end.older = this.#end.newer = this.#end;
  }

  get size() {
    return this.#entries.size;
  }

  get oldest(): Value | undefined {
    return this.#end.newer.value;
  }

  /** The most recently used first. */
  *[Symbol.iterator](): Generator<readonly [key: string, value: Value]> {
    for (let entry = this.#end.older; entry !== this.#end; entry = entry.older) yield [entry.key, entry.value];
  }

  /** Returns a value, which is no use of it. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    unlink(entry);
    entry.older = this.#end.older;
    entry.newer = this.#end;
    entry.older.newer = this.#end.older = entry;
    return entry.value;
  }

  set(key: string, value: Value, bytes = 0): void {
    this.delete(key);
    const { older } = this.#end;
    const entry = { key, value, bytes, older, newer: this.#end };
    older.newer = this.#end.older = entry;
    this.#entries.set(key, entry);
    this.bytes += bytes;
    while (this.size > this.maxEntries || this.bytes > this.maxBytes) {
      const { key: oldest, value: evicted } = this.#end.newer;
      this.delete(oldest);
      this.onEvict?.(oldest, evicted);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.bytes -= entry.bytes;
    unlink(entry);
  }
}

function unlink<Value>({ older, newer }: Entry<Value>): void {
  older.newer = newer;
  newer.older = older;
}
