const MAX_SESSIONS = 10_000;
const MAX_OF_OWNER = 100;

/** Without a token, a session belongs to nobody, until a token uses it. */
const NOBODY = '';

/**
 * Remembers who opened which session of a handler. Those that were not used for longest are forgotten first, and one owner cannot
 * make the sessions of others forgotten.
 */
export class McpSessions {
  readonly #owners = new Map<string, string>();
  readonly #bySession = new Map<string, Set<string>>();

  /** Whether a session is somebody else's, as far as it is remembered. */
  isForeign(session: string, owner: string): boolean {
    return ![undefined, NOBODY, owner].includes(this.#owners.get(session));
  }

  /** Remembers who uses a session, after a response that was no refusal. */
  use(session: string, owner: string): void {
    this.end(session);
    const own = this.#bySession.get(owner) ?? new Set();
    this.#bySession.set(owner, own.add(session));
    this.#owners.set(session, owner);
    const [oldestOwn] = own;
    if (own.size > MAX_OF_OWNER && oldestOwn !== undefined) this.end(oldestOwn);
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > MAX_SESSIONS && oldest !== undefined) this.end(oldest);
  }

  /** Forgets a session. */
  end(session: string): void {
    const owner = this.#owners.get(session) ?? NOBODY;
    const own = this.#bySession.get(owner);
    this.#owners.delete(session);
    own?.delete(session);
    if (own?.size === 0) this.#bySession.delete(owner);
  }
}
