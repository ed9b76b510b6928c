import { RecentMap } from '../values/recent-map.ts';

/** Remembers who opened which session: the 10,000 used last, and 100 of each owner. */
export class McpSessions {
  readonly #owners = new RecentMap<string>(10_000);

  /** Whether a session is somebody else's, not nobody's: opened without a token, or forgotten. */
  isForeign(session: string, owner: string | undefined): boolean {
    return ![undefined, owner].includes(this.#owners.peek(session));
  }

  /** Remembers who uses a session, after a response that was no refusal. */
  use(session: string, owner: string): void {
    if (this.#owners.get(session) === owner) return;
    this.#owners.set(session, owner);
    let own = 0;
    for (const [each, other] of this.#owners) if (other === owner && ++own > 100) this.end(each);
  }

  /** Forgets a session. */
  end(session: string): void {
    this.#owners.delete(session);
  }
}
