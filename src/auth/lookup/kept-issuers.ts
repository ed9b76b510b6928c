import { Rejected } from '../rejections.ts';
import { RecentMap } from '../values/recent-map.ts';

/*
 * Which issuers and names are kept if there are more than places for them. Names come from unverified tokens: they take
 * turns in a few places, and never displace an issuer of which a token was verified.
 */

/** Places for issuers whose tokens were verified. The one whose token was verified longest ago leaves first. */
const maxVerified = 900;
/** Places for the others, and for those that left the first ones. The one that was named longest ago leaves first. */
const maxNamed = 100;

/** Issuers by name. */
export class KeptIssuers<Issuer extends object> {
  readonly #verified = new RecentMap<Issuer>(maxVerified);
  readonly #named = new RecentMap<Issuer>(maxNamed);

  /** @param onEvict called with what leaves for lack of a place */
  constructor(onEvict: (iss: string, issuer: Issuer) => void) {
    this.#verified.onEvict = (iss, issuer) => this.#named.set(iss, issuer);
    this.#named.onEvict = onEvict;
  }

  /** The one whose token was verified last comes first. */
  *[Symbol.iterator](): Generator<readonly [iss: string, issuer: Issuer]> {
    yield* this.#verified;
    yield* this.#named;
  }

  /** Returns an issuer, which is no use of it. */
  peek(iss: string): Issuer | undefined {
    return this.#verified.peek(iss) ?? this.#named.peek(iss);
  }

  /** Returns the issuer that an unverified token names. */
  name(iss: string): Issuer | undefined {
    return this.#verified.peek(iss) ?? this.#named.get(iss);
  }

  /** Keeps an issuer that was kept until now, because a token of it was verified. */
  verify(iss: string): void {
    if (this.#verified.get(iss)) return;
    const issuer = this.#named.peek(iss);
    if (!issuer) return;
    this.#named.delete(iss);
    this.#verified.set(iss, issuer);
  }

  /** Replaces an issuer in its place, or adds one that was named. */
  set(iss: string, issuer: Issuer): void {
    const places = this.#verified.peek(iss) ? this.#verified : this.#named;
    places.set(iss, issuer);
  }

  delete(iss: string): void {
    this.#verified.delete(iss);
    this.#named.delete(iss);
  }
}

/** At most 6 MiB of names. */
const maxNames = 10_000;

/** Until when names of issuers are not looked up, and why. The oldest leaves first. */
export class RejectedIssuers extends RecentMap<{ readonly reason: Rejected['reason']; readonly until: number }> {
  constructor() {
    super(maxNames);
  }

  find(iss: string, now: number): Rejected | undefined {
    const found = this.peek(iss);
    if (!found || now >= found.until) return undefined;
    return new Rejected(found.reason, Math.ceil((found.until - now) / 1000));
  }

  /** Forgets a name, or all of them. */
  forget(iss?: string): void {
    for (const [name] of iss === undefined ? [...this] : [[iss]]) this.delete(name);
  }
}
