import type { Fetch } from '../../src/auth/index.ts';
import { publish, signingKey } from '../support/keys.ts';
import type { World } from './world.ts';

/**
 * How an issuer responds: as it should, after too long, not at all, with an error, with something else, or as it was
 * long ago.
 */
export type Mood = 'up' | 'slow' | 'down' | 'failing' | 'wrong' | 'stale';

/** A document that an issuer sent to an instance: which keys it has, and when the issuer sent it. */
export interface Sent {
  readonly kids: ReadonlySet<string>;
  readonly at: number;
}

export type Issuer = ReturnType<typeof createIssuer>;

const keyOf = (issuer: string, kid: string) => signingKey('EdDSA', `fleet ${issuer} ${kid}`);
const published = new Map<string, object>();

function jwkOf(issuer: string, kid: string): object {
  const id = `${issuer} ${kid}`;
  const jwk = published.get(id) ?? publish(keyOf(issuer, kid), kid);
  published.set(id, jwk);
  return jwk;
}

/** Returns an issuer in virtual time, whose metadata name the URL of its keys. */
export function createIssuer(world: World, name: string, random: (below: number) => number) {
  /** All sets that it has published, the newest last. */
  const sets: { readonly since: number; readonly kids: ReadonlySet<string> }[] = [
    { since: 0, kids: new Set(['key-0']) },
  ];
  const moods: { readonly since: number; readonly mood: Mood }[] = [{ since: Number.NEGATIVE_INFINITY, mood: 'up' }];
  let lastKey = 0;
  let moves = 0;
  let requests = 0;

  const kids = () => sets.at(-1)?.kids ?? new Set<string>();
  const mood = () => moods.at(-1)?.mood ?? 'up';
  const change = (next: ReadonlySet<string>) => sets.push({ since: world.now(), kids: next });
  const latencyMs = () => (mood() === 'slow' ? 60_000 : 5 + random(200));

  function documentAt(url: string): { readonly body: unknown; readonly sent?: Sent } | undefined {
    const path = `/keys-${moves}`;
    if (url === `${name}/.well-known/openid-configuration`) return { body: { issuer: name, jwks_uri: name + path } };
    if (url !== name + path) return undefined;
    const at = mood() === 'stale' ? world.now() - 3_600_000 : world.now();
    const { kids: then } = sets.findLast(({ since }) => since <= at) ?? { kids: kids() };
    return { body: { keys: [...then].map((kid) => jwkOf(name, kid)) }, sent: { kids: then, at } };
  }

  function respond(url: string, onSent: (sent: Sent) => void): Response {
    if (mood() === 'down') throw new TypeError('unreachable');
    if (mood() === 'failing') return new Response('', { status: 500 });
    const found = documentAt(url);
    if (!found) return new Response('', { status: 404 });
    if (mood() === 'wrong') return Response.json({ error: 'maintenance' });
    if (found.sent) onSent(found.sent);
    return Response.json(found.body);
  }

  return {
    name,
    kids,
    mood,
    sign: (kid: string) => keyOf(name, kid),
    requests: () => requests,
    /** Whether it has responded as it should for so long. */
    isCalmFor: (ms: number) => {
      const since = world.now() - ms;
      return moods.every((each, index) => each.mood === 'up' || (moods[index + 1]?.since ?? world.now()) < since);
    },
    /** Since when it has published a key without a break; undefined if it does not. */
    publishedSince(kid: string): number | undefined {
      const first = sets.findLastIndex((set) => !set.kids.has(kid)) + 1;
      return sets[first]?.since;
    },
    setMood: (next: Mood) => moods.push({ since: world.now(), mood: next }),
    move: () => {
      moves += 1;
    },
    addKey: () => change(new Set([...kids(), `key-${++lastKey}`])),
    withdrawKey(): void {
      const [oldest] = kids();
      if (kids().size > 1) change(new Set([...kids()].filter((kid) => kid !== oldest)));
    },
    /** Responds to an instance after a while, and says which keys it sent. */
    fetchFor:
      (onSent: (sent: Sent) => void): Fetch =>
      (url, { signal } = {}) =>
        new Promise((resolve, reject) => {
          requests += 1;
          signal?.addEventListener('abort', () => reject(new TypeError('aborted')));
          world.schedule(() => {
            try {
              resolve(respond(url, onSent));
            } catch (error) {
              reject(error);
            }
          }, latencyMs());
        }),
  };
}
