import type { Guard } from '../../src/auth/index.ts';
import { serve } from './fixture.ts';
import { publish, rsaKey } from './keys.ts';
import { AUDIENCE, bearer, mintToken } from './mint.ts';

/*
 * An issuer whose responses caches may keep for an hour, and what an API must notice nevertheless: a new key, a
 * withdrawn one after reload(), and metadata that name another URL.
 */

const cachedForAnHour = { 'cache-control': 'public, max-age=3600', 'access-control-allow-origin': '*' };

/** What is published at each step, and where the metadata say it is. A URL that was left returns 404. */
const steps = [
  { at: '/keys/1', kids: ['one'] },
  { at: '/keys/1', kids: ['one', 'two'] },
  { at: '/keys/1', kids: ['two'] },
  { at: '/keys/2', kids: ['three'] },
] as const;

/** What an API says of tokens of each of these keys, one step after another, if it asks anew, and if it does not. */
export const wanted = ['one accepted', 'two accepted', 'one rejected', 'three accepted'];
export const unwanted = ['one accepted', 'two rejected', 'one accepted', 'three rejected'];

/**
 * Starts the issuer. A request for `/next` lets it go to its next step.
 * @param proxied the origin at which it is reached, by default its own
 */
export function startChangingIssuer(proxied?: string) {
  let at = 0;
  const server = serve(({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === '/next') return new Response(String(++at), { headers: { 'cache-control': 'no-store' } });
    const step = steps[at] ?? steps[0];
    if (pathname === '/.well-known/openid-configuration')
      return Response.json({ issuer, jwks_uri: issuer + step.at }, { headers: cachedForAnHour });
    if (pathname !== step.at) return new Response(null, { status: 404 });
    const keys = step.kids.map((kid) => publish(rsaKey(kid), kid));
    return Response.json({ keys }, { headers: cachedForAnHour });
  });
  const issuer = proxied ?? server.url.origin;
  const tokens: Readonly<Record<string, string>> = Object.fromEntries(
    ['one', 'two', 'three'].map((kid) => [kid, mintToken(issuer, { header: { kid }, key: rsaKey(kid) })]),
  );
  return { issuer, port: server.port, audience: AUDIENCE, tokens, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** Returns what a guard says of tokens of each key, one step after another. */
export async function follow(guard: Guard, { issuer, audience, tokens }: ReturnType<typeof startChangingIssuer>) {
  const said: string[] = [];
  const say = async (kid: string) => {
    const result = await guard.check(new Request(audience, { headers: bearer(tokens[kid] ?? '') }));
    said.push(`${kid} ${result instanceof Response ? 'rejected' : 'accepted'}`);
  };
  const next = () => fetch(`${issuer}/next`);
  await say('one');
  await next();
  await say('two');
  for (const kid of ['one', 'three']) {
    await next();
    await guard.reload();
    await say(kid);
  }
  return said;
}
