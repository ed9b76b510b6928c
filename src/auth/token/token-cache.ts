import type { TimeAndRandom } from '../values/clock.ts';
import { RecentMap } from '../values/recent-map.ts';

interface TokenCacheOptions<Entry> extends Pick<TimeAndRandom, 'random'> {
  /** At least 1. */
  readonly maxEntries: number;
  /** Limit of the estimated heap size; defaults to 64 MiB. */
  readonly maxBytes?: number;
  /** Whether an entry is still valid. An invalid one can always be replaced. */
  readonly isGood: (entry: Entry) => boolean;
}

/** One in so many new entries is admitted while the cache is full of valid ones. See the traces in bench/README.md. */
const admitOneIn = 8;
/** Heap size of an entry without the characters of its token and without its claims. */
const entryBytes = 512;

/**
 * Verified tokens, limited in entries and estimated heap size. The one that was used least recently leaves first. If
 * all were admitted, a rotation of more tokens than the cache holds would evict each token before its next use. An
 * entry may no longer be valid.
 */
export class TokenCache<Entry extends { readonly claims: unknown }> extends RecentMap<Entry> {
  readonly #options: TokenCacheOptions<Entry>;
  readonly #maxEntryBytes: number;

  constructor(options: TokenCacheOptions<Entry>) {
    super(options.maxEntries, options.maxBytes ?? 64 * 1024 * 1024);
    this.#options = options;
    this.#maxEntryBytes = Math.ceil(this.maxBytes / 512);
  }

  /** Offers an entry. One of more than 1/512 of `maxBytes` is not stored, and most are not while the cache is full. */
  override set(token: string, entry: Entry): void {
    if (this.peek(token) === undefined && !this.#isAdmitted()) return;
    const bytes = entryBytes + token.length + heapBytes(entry.claims);
    if (bytes > this.#maxEntryBytes) this.delete(token);
    else super.set(ownCopy(token), entry, bytes);
  }

  /** Decided before the size of the entry is known, because most entries are not admitted once the cache is full. */
  #isAdmitted(): boolean {
    const { isGood, random } = this.#options;
    const isFull = this.size === this.maxEntries || this.bytes > this.maxBytes - this.#maxEntryBytes;
    return !isFull || this.oldest === undefined || !isGood(this.oldest) || random() * admitOneIn < 1;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A token is a slice of its header line, and would keep the whole line in memory, including up to 16 KiB of spaces. */
const ownCopy = (token: string): string => decoder.decode(encoder.encode(token));

/**
 * Returns an upper bound of the heap size of frozen claims. Measured in JavaScriptCore, which stores the elements of a
 * frozen array in a hash table and may allocate a structure for each sequence of member names. V8 needs less.
 */
function heapBytes(value: unknown): number {
  if (typeof value === 'string') return 40 + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const own = Array.isArray(value) ? 208 + 64 * members.length : 320 + 320 * members.length;
  return members.reduce((bytes: number, member) => bytes + heapBytes(member), own);
}
