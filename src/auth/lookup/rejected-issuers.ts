import { Rejected } from '../rejections.ts';
import { RecentMap } from '../values/recent-map.ts';

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
