import { expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import { optionsFromEnvironment } from '../../../src/auth/options/environment.ts';
import { publish, signingKey } from '../../support/keys.ts';
import { mintToken, nowSeconds, SIGNING_KID } from '../../support/mint.ts';
import { seeded } from '../../support/seeded.ts';

/*
 * Whoever follows the last line gets to a token that is accepted, or is told that no setting can do that. What explain
 * says would be accepted is accepted: the keys of every issuer here are good.
 */

const own = 'https://issuer.example.test/tenant';
const keySet = 'https://keys.example.test/keys';
const issuers = [own, `${own}/`, 'https://other.example.test', 'acme.com', 'http://plain.example.test', undefined];
const audiences = ['api', 'other', ['other', 'account'], 'client', 'account', 'sts.amazonaws.com', undefined];
const scopes = [{ scope: 'read' }, { scp: ['read'] }, { realm: { roles: ['read'] } }, { scope: 'openid' }, {}];
const kinds = [{}, {}, {}, { nonce: 'n' }, { token_use: 'id' }, { nonce: 'n', at_hash: 'h' }];
const times = [{}, {}, {}, { exp: 1 }, { nbf: nowSeconds() + 3600 }, { exp: 'soon' as never }];
const algorithms = ['RS256', 'RS256', 'ES256', 'HS256'];
const types = ['JWT', 'at+jwt', 'id+jwt', undefined];
const settings: Readonly<Record<string, readonly string[]>> = {
  ISSUER: [own, `${own}/`, 'https://other.example.test', 'https://issuer.example.test/tenant,https://b.example.test'],
  AUDIENCE: ['api', 'api,client'],
  ALGORITHMS: ['', 'ES256', 'RS256,ES256'],
  TOKEN_TYPE: ['', 'at+jwt'],
  SCOPE_CLAIM: ['', 'scp'],
  REQUIRE_SCOPE: ['', 'true'],
  JWKS_URI: ['', keySet, 'https://keys.example.test/nothing'],
};

/** Returns a response with the keys of any issuer, whose metadata name them. */
function fetchFrom(alg: string) {
  const keys = { keys: [publish(signingKey(alg, 'issuer'), SIGNING_KID)] };
  return async (url: string) => {
    const [, issuer] = /^(https:\/\/.*)\/\.well-known\/openid-configuration$/.exec(url) ?? [];
    if (url === keySet) return Response.json(keys);
    if (issuer === undefined) return new Response(null, { status: 404 });
    return Response.json({ issuer: url.includes('tenant') ? own : issuer, jwks_uri: keySet });
  };
}

/** Returns the settings that a last line advises, or undefined if it advises none. */
function follow(advice: string, audience: unknown, given: Readonly<Record<string, string>>) {
  const changes: Record<string, string> = {};
  const [, issuer] = /set ISSUER to (\S+?),? (?:and|if) /.exec(advice) ?? [];
  if (issuer !== undefined) changes.ISSUER = issuer;
  const [, algorithm] = /set ALGORITHMS to (\S+) if/.exec(advice) ?? [];
  if (algorithm !== undefined) changes.ALGORITHMS = algorithm;
  const [, claim] = /set SCOPE_CLAIM to (\S+), the claim/.exec(advice) ?? [];
  if (claim !== undefined) changes.SCOPE_CLAIM = claim;
  if (advice.includes('set AUDIENCE to it')) changes.AUDIENCE = [audience].flat().join(',');
  if (advice.includes('set TOKEN_TYPE to jwt')) changes.TOKEN_TYPE = '';
  if (/JWKS_URI to the URL of its key set|set JWKS_URI to (?:it|the jwks_uri)/.test(advice)) changes.JWKS_URI = keySet;
  if (/leave (?:it|JWKS_URI) out/.test(advice)) changes.JWKS_URI = '';
  const isNew = Object.entries(changes).some(([name, value]) => (given[name] ?? '') !== value);
  return isNew ? { ...given, ...changes } : undefined;
}

test('the last line of explainToken() leads to an accepted token in three steps, or to no setting', async () => {
  const below = seeded(81);
  const pick = <Value>(values: readonly Value[]) => values[below(values.length)] as Value;
  let accepted = 0;
  for (let round = 0; round < 300; round += 1) {
    const [iss, aud, alg] = [pick(issuers), pick(audiences), pick(algorithms)];
    const claims = { iss, aud, scope: undefined, ...pick(scopes), ...pick(kinds), ...pick(times) };
    const text = mintToken('', {
      header: { alg, typ: pick(types) },
      claims,
      signedAs: alg,
      key: signingKey(alg, 'issuer'),
    });
    const fetch = fetchFrom(alg);
    let given: Readonly<Record<string, string>> | undefined = Object.fromEntries(
      Object.entries(settings).map(([name, values]) => [name, pick(values)]),
    );
    if (given.ISSUER?.includes(',')) given = { ...given, JWKS_URI: '' };
    let isPromised = false;
    for (let step = 0; given !== undefined; step += 1) {
      const explained = await explainToken(text, { ...optionsFromEnvironment(given), fetch }, { words: 'settings' });
      const { status, advice } = explained;
      const told = JSON.stringify({ claims, given, advice });
      // The keys may have to be named first.
      if (isPromised)
        expect(status === 503 ? advice : status, told).toBeOneOf([200, expect.stringContaining('JWKS_URI')]);
      expect(step, told).toBeLessThan(4);
      if (status === 200) accepted += 1;
      isPromised = advice.includes('Then the token is accepted');
      const next: Readonly<Record<string, string>> | undefined =
        status === 200 ? undefined : follow(advice, aud, given);
      if (isPromised) expect(next, told).toBeDefined();
      given = next;
    }
  }
  expect(accepted).toBeGreaterThan(10);
});
