import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { TlsClientAuth } from 'openid-client';
import { browse, callback } from '../../support/authorization-server.ts';
import { certificate } from '../../support/certificates.ts';
import { AUDIENCE } from '../../support/mint.ts';
import { javaLibraries } from '../cache.ts';
import { boundToken, certifiedToken, discover, forApplication, forUser } from '../client.ts';
import {
  asksAt,
  boundRows,
  certifiedRows,
  clientsOf,
  opaqueRows,
  READ,
  type RealServer,
  readerToken,
  roleRows,
  script,
  secretOf,
  usualTokens,
} from './real-server.ts';

/** Returns an ID token that has the claims of a callback. No client of OpenID Connect accepts it. */
async function idTokenOfCallback(issuer: string) {
  const grant = { client_id: 'reader', redirect_uri: callback };
  const query = { ...grant, response_type: 'code', scope: 'openid', state: 'any', nonce: 'any' };
  const response = await browse(`${issuer}/authorize?${new URLSearchParams(query)}`);
  const code = new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const form = { ...grant, client_secret: 'any', grant_type: 'authorization_code', code, resource: AUDIENCE };
  const init = { method: 'POST', body: new URLSearchParams(form), keepalive: false };
  const tokens = Object(await (await fetch(`${issuer}/token`, init)).json());
  return String(tokens.id_token);
}

export const javaServers: readonly RealServer[] = [
  {
    name: 'mock-oauth2-server',
    version: '2.2.1',
    needs: ['java', 'mvn', 'setpriv'],
    command: async () => {
      const libraries = await javaLibraries('mock-oauth2-server', '2.2.1');
      return [process.execPath, script('mock-oauth2-server.mjs'), libraries, AUDIENCE];
    },
    settings: { AUDIENCE },
    application: readerToken({ resource: AUDIENCE }),
    async others(started) {
      const [reader] = await clientsOf(started);
      const other = await discover(started.issuer.replace(/default$/, 'other'), secretOf('reader'));
      const user = await forUser(reader, 'ada', { scope: `openid ${READ}` });
      return {
        userWithoutAudience: user.access_token,
        idToken: user.id_token,
        idTokenOfCallback: await idTokenOfCallback(started.issuer),
        refreshToken: user.refresh_token,
        withoutAudience: await forApplication(reader),
        // It gives this audience to everybody who names none.
        withDefaultAudience: await forApplication(other),
      };
    },
    expected: {
      application: 'accepted',
      userWithoutAudience: 'audience_mismatch',
      idToken: 'audience_mismatch',
      // Nothing tells it from an access token, which has a nonce too.
      idTokenOfCallback: 'accepted',
      refreshToken: 'token_malformed',
      withoutAudience: 'audience_mismatch',
      withDefaultAudience: 'key_unknown',
    },
  },
  {
    name: 'Spring Authorization Server',
    version: '1.5.0',
    needs: ['java', 'mvn'],
    command: async () => {
      const libraries = await javaLibraries('spring-authorization-server', '1.5.0');
      const source = join(import.meta.dir, '../java/AuthorizationServer.java');
      const subject = new X509Certificate(certificate('a').der).subject;
      return ['env', `SUBJECT=${subject}`, 'java', '-cp', `${libraries}/*`, source, AUDIENCE];
    },
    settings: { AUDIENCE },
    introspect: asksAt('/oauth2/introspect', 'reader'),
    application: readerToken(),
    async others(started) {
      const { issuer } = started;
      const [reader, visitor] = await clientsOf(started);
      const of = async (id: string) => forApplication(await discover(issuer, secretOf(id)), { scope: READ });
      const certified = await discover(issuer, secretOf('certified'), 'oidc', TlsClientAuth());
      return {
        ...(await usualTokens(reader, visitor)),
        userWithoutRole: (await forUser(reader, 'bob', { scope: `openid ${READ}` })).access_token,
        withoutScope: await forApplication(reader),
        ...{ ES256: await of('ES256'), opaque: await of('opaque') },
        bound: await boundToken(reader, { scope: READ }),
        certified: await certifiedToken(certified, { scope: READ }),
      };
    },
    expected: {
      application: 'accepted',
      user: 'accepted',
      ...roleRows('roles'),
      withoutScope: 'withoutScope',
      anotherClient: 'audience_mismatch',
      idToken: 'audience_mismatch',
      refreshToken: 'token_opaque',
      refreshTokenIntrospected: ['audience_mismatch', {}, 'refreshToken', 'introspected'],
      ES256: ['accepted', { ALGORITHMS: 'ES256' }],
      ...boundRows,
      ...certifiedRows,
      ...opaqueRows,
    },
  },
];
