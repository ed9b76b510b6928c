import { AUDIENCE } from '../../support/mint.ts';
import { goPrograms } from '../cache.ts';
import { act } from './act.ts';
import { type RealServer, script } from './real-server.ts';
import type { Started } from './start.ts';

const workload = (name: string, trustDomain = 'example.org') => `spiffe://${trustDomain}/ns/default/sa/${name}`;

/** Returns the JWT-SVID of a workload. The agent keeps what it has got for these audiences. */
const fetched = (started: Started, audience: string, name = 'my-client') =>
  act<string>(started, 'token', { spiffeID: workload(name), audience });
const fetchedAnew = (started: Started) => fetched(started, `${AUDIENCE},https://${crypto.randomUUID()}.example.com`);

const ofAnotherDomain = (started: Started, trustDomain: string, more = {}) =>
  act<string>(started, 'foreign', {
    trustDomain,
    spiffeID: workload('my-client', trustDomain),
    audience: AUDIENCE,
    ...more,
  });

/** Returns a token that is signed with a key of this type, which it uses for a new key only. */
async function signedWith(keyType: string, started: Started) {
  await act(started, 'rotate', { keyType });
  const token = await fetchedAnew(started);
  await act(started, 'rotate', { keyType: 'ec-p256' });
  return token;
}

const programs = ['cmd/spire-server', 'cmd/spire-agent', 'support/oidc-discovery-provider'];

export const spire: RealServer = {
  name: 'SPIRE',
  version: '1.13.3',
  page: 'spire',
  needs: ['go', 'setpriv'],
  command: async () => {
    const paths = programs.map((path) => `github.com/spiffe/spire/${path}`);
    return [process.execPath, script('spire.mjs'), await goPrograms('spire', '1.13.3', paths)];
  },
  settings: { AUDIENCE },
  application: fetchedAnew,
  others: async (started) => ({
    onlyForApi: await fetched(started, AUDIENCE),
    anotherApi: await fetched(started, 'https://other.example.com'),
    anotherWorkload: await fetched(started, AUDIENCE, 'other'),
    anotherDomain: await ofAnotherDomain(started, 'other.test', { jwtIssuer: 'https://oidc.other.test' }),
    anotherDomainWithIssuer: await ofAnotherDomain(started, 'third.test', { jwtIssuer: started.issuer }),
    withoutIssuer: await act<string>(started, 'withoutIssuer', { spiffeID: workload('my-client'), audience: AUDIENCE }),
    RS256: await signedWith('rsa-2048', started),
    ES384: await signedWith('ec-p384', started),
  }),
  expected: {
    application: 'withoutScope',
    onlyForApi: 'withoutScope',
    anotherApi: 'audience_mismatch',
    anotherWorkload: 'required_claim_mismatch',
    anotherDomain: 'key_unknown',
    anotherDomainWithIssuer: 'key_unknown',
    withoutIssuer: 'issuer_mismatch',
    RS256: ['withoutScope', { ALGORITHMS: 'RS256' }],
    ES384: ['withoutScope', { ALGORITHMS: 'ES384' }],
  },
};
