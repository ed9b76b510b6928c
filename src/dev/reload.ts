import type { IssuerSecrets } from 'protected-api/testing';

/** What a reload by `bun run dev` keeps. */
export interface Kept {
  /** So that tokens and credentials of the development issuer stay valid. */
  secrets?: IssuerSecrets;
  /** Stops what the modules before the reload have started, apart from listeners, which Bun reuses. */
  stop?: () => void;
}

const name = Symbol.for('protected-api.kept');

/** Returns what is kept. `bun --hot` evaluates all modules again in the same process, in which only `globalThis` stays. */
export function keptOverReloads(): Kept {
  const holder = globalThis as { [name]?: Kept };
  holder[name] ??= {};
  return holder[name];
}
