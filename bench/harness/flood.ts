import { type Contestant, type Context, startContestant } from './contestants.ts';
import { runWrk } from './wrk.ts';

/** How often a server asks for keys while every request names a key that does not exist. */
export interface Flood {
  readonly seconds: number;
  readonly requests: { readonly up: number; readonly down: number };
  readonly fetches: { readonly up: number; readonly down: number };
}

/** Floods a fresh process with unknown kids, first with the key set up, then with it answering 500, longer than a cooldown each. */
export async function measureFlood(contestant: Contestant, context: Context, seconds: number): Promise<Flood> {
  const { tokens, keySet } = context;
  const server = await startContestant(contestant, context);
  async function flood(isDown: boolean) {
    const before = keySet.fetches(contestant.name);
    keySet.setDown(isDown);
    const offset = isDown ? '500000000' : '0';
    const args = ['unknown', '/api/private', tokens.unknownKidsFile, offset];
    const { requests } = await runWrk({ url: server.url, seconds, args });
    return { requests, fetches: keySet.fetches(contestant.name) - before };
  }
  try {
    const up = await flood(false);
    const down = await flood(true);
    return {
      seconds,
      requests: { up: up.requests, down: down.requests },
      fetches: { up: up.fetches, down: down.fetches },
    };
  } finally {
    keySet.setDown(false);
    await server.stop();
  }
}
