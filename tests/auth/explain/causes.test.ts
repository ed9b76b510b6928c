import { expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import type { GuardOptions, Requirements } from '../../../src/auth/index.ts';
import { ISSUER, offline, tokenOf } from '../../support/checked.ts';
import { AUDIENCE, nowSeconds, type TokenOverrides } from '../../support/mint.ts';
import { bound } from '../../support/proof.ts';

/*
 * One fault in each token, and the first sentence that explain prints: the cause, and what to do, as a person would say
 * it who has found both.
 */

interface Cause {
  readonly token: TokenOverrides | string;
  readonly options?: Partial<GuardOptions>;
  readonly requirements?: Requirements;
  readonly says: string;
}

const inSeconds = (seconds: number) => nowSeconds() + seconds;
const dpop = { dpop: 'on', publicUrl: 'https://api.example.test' } as const;
const entra = { issuer: 'https://login.microsoftonline.com/t/v2.0' };
const asVersion2 =
  'the token has version 1.0, and ISSUER is that of version 2.0: set requestedAccessTokenVersion to 2 in the manifest of the API';
const forgeRock = { issuer: 'https://am.example.test/am/oauth2/realms/root/realms/alpha' };
const keycloak = { issuer: 'https://keycloak.example.test/realms/r' };
const graph = { iss: 'https://sts.windows.net/t/', aud: 'https://graph.microsoft.com' };
const request = `the client must request a token for ${AUDIENCE} (the parameter resource of RFC 8707, or audience)`;
const orAdd = `${request}, or configure the issuer to put it into aud`;
const clocks = 'correct the clock of the issuer or of this machine';
const fromGraph =
  'No setting accepts this token: it is for Microsoft Graph, and Microsoft signs tokens for its own APIs so that only they can verify them';
const fetching = (respond: () => Response) => ({ keys: undefined, onKeySetEvent() {}, fetch: async () => respond() });
const encrypted = (header: object) => `${Buffer.from(JSON.stringify(header)).toString('base64url')}.a.b.c.d`;

const causes: Readonly<Record<string, Cause>> = {
  'expired an hour ago': {
    token: { claims: { exp: inSeconds(-3700) } },
    says: 'the token expired 1 hour ago: the client must request a new token',
  },
  'nbf 49 minutes ahead': {
    token: { claims: { nbf: inSeconds(49 * 60 + 30) } },
    says: `the token is valid only in 49 minutes (nbf), which no setting allows: ${clocks}`,
  },
  'nbf in milliseconds': {
    token: { claims: { nbf: nowSeconds() * 1000 } },
    says: 'the issuer must write nbf in seconds, not in milliseconds',
  },
  'nbf three minutes ahead': {
    token: { claims: { nbf: inSeconds(200) } },
    says: `the token is valid only in 3 minutes (nbf): ${clocks}, or raise CLOCK_TOLERANCE_SECONDS to at least `,
  },
  'issued too long ago': {
    token: { claims: { iat: inSeconds(-3700) } },
    options: { maxTokenAgeSeconds: 60 },
    says: 'the token was issued 1 hour ago, and MAX_TOKEN_AGE_SECONDS is 60: the client must request a new token',
  },
  'signed with HS256': {
    token: { header: { alg: 'HS256' } },
    says: 'no setting accepts a token that is signed with HS256 and a shared key: configure the issuer to sign with RS256',
  },
  'not signed': {
    token: { header: { alg: 'none' } },
    says: 'the token is not signed: configure the issuer to sign with RS256',
  },
  'signed with an algorithm that is not allowed': {
    token: { header: { alg: 'ES256' } },
    says: 'the token is signed with ES256: set ALGORITHMS to ES256 if the issuer signs with it',
  },
  'for another API': {
    token: { claims: { aud: 'https://other.example.test' } },
    says: `the token is for https://other.example.test: ${orAdd}`,
  },
  'for this API but a slash': {
    token: { claims: { aud: AUDIENCE.slice(0, -1) } },
    says: `the token is for ${AUDIENCE.slice(0, -1)}, and the slash at its end is the only difference: ${orAdd}`,
  },
  'for no API': { token: { claims: { aud: undefined } }, says: `the token has no aud: ${orAdd}` },
  'for the account console of Keycloak': {
    token: { claims: { aud: 'account' } },
    says: `the token is for the account console of Keycloak: add an Audience mapper for ${AUDIENCE} to a client scope that the client has`,
  },
  'for another client of Keycloak': {
    token: { claims: { iss: keycloak.issuer, aud: 'spa' } },
    options: keycloak,
    says: `the token is for spa: add an Audience mapper for ${AUDIENCE} to a client scope that the client has`,
  },
  'for another client of ForgeRock': {
    token: { claims: { iss: forgeRock.issuer, aud: 'spa' } },
    options: forgeRock,
    says: `the token is for spa: ${orAdd}`,
  },
  'an ID token of Keycloak': {
    token: { claims: { iss: keycloak.issuer, aud: 'spa', typ: 'ID' } },
    options: keycloak,
    says: 'the token has typ ID: the client must send an access token, not another kind such as an ID token',
  },
  'for another API of Entra': {
    token: { claims: { iss: entra.issuer, aud: 'other' } },
    options: { ...entra, audience: '11112222-bbbb-3333-cccc-4444dddd5555' },
    says: 'the token is for other: the client must request a scope of this API, such as api://11112222-bbbb-3333-cccc-4444dddd5555/.default',
  },
  'of version 1.0 of Entra': {
    token: { claims: { iss: graph.iss } },
    options: entra,
    says: asVersion2,
  },
  'of version 1.0 of Entra in China': {
    token: { claims: { iss: 'https://sts.chinacloudapi.cn/t/' } },
    options: { issuer: 'https://login.partner.microsoftonline.cn/t/v2.0' },
    says: asVersion2,
  },
  'with another scope in a claim that is not read': {
    token: { claims: { scope: undefined, scp: 'access_as_user' } },
    requirements: { scope: 'write' },
    says: 'set SCOPE_CLAIM to scp, the claim that has the scopes of this token',
  },
  'for Microsoft Graph': { token: { header: { nonce: 'n' }, claims: graph }, options: entra, says: fromGraph },
  'for Microsoft Graph, from another endpoint': { token: { claims: graph }, options: entra, says: fromGraph },
  'for Microsoft Graph, from an issuer that is trusted': {
    token: { claims: { aud: graph.aud } },
    says: `the token is for Microsoft Graph: ${orAdd}`,
  },
  'of another issuer': {
    token: { claims: { iss: 'https://other.example.test/' } },
    says: 'set ISSUER to https://other.example.test/ if you trust this issuer',
  },
  'of the name of the issuer in Docker': {
    token: { claims: { iss: 'http://issuer:8080/' } },
    says: 'set ISSUER to http://issuer:8080/, and JWKS_URI to the URL of its key set, if you trust this issuer',
  },
  'of no issuer': { token: { claims: { iss: undefined } }, says: 'the issuer must put iss into the token' },
  'an ID token': {
    token: { claims: { aud: 'client', nonce: 'n' } },
    says: 'It looks like an ID token, because it has nonce: send an access token',
  },
  'an ID token of Amazon Cognito': {
    token: { claims: { token_use: 'id' } },
    says: 'the token has token_use id: the client must send an access token, not another kind such as an ID token',
  },
  'a refresh token of Keycloak': {
    token: { claims: { typ: 'Refresh' } },
    says: 'the token has typ Refresh: the client must send an access token, not another kind such as an ID token',
  },
  'of another type': {
    token: { header: { typ: 'id+jwt' } },
    says: 'the token has the type id+jwt: the client must send an access token, not another kind of JWT such as an ID token',
  },
  'without a kid': {
    token: { header: { kid: undefined } },
    says: 'configure the issuer to put kid into the header',
  },
  'of an unknown key': {
    token: { header: { kid: 'other' } },
    says: `${ISSUER} does not publish the key other: the issuer must, or another server has signed the token`,
  },
  'with a wrong signature': {
    token: `${tokenOf().slice(0, -6)}AAAAAA`,
    says: 'the token was cut or changed, or another issuer signed it',
  },
  'cut in the signature': { token: tokenOf().slice(0, -40), says: 'the token was probably cut: its signature has ' },
  'cut in the claims': {
    token: tokenOf().split('.').slice(0, 2).join('.'),
    says: 'the token was cut: it has 2 of 3 parts',
  },
  opaque: { token: 'c2VjcmV0LXRva2Vu', says: `the token is no JWT: ${request}` },
  encrypted: {
    token: encrypted({ alg: 'RSA-OAEP', enc: 'A256GCM' }),
    says: 'the token is encrypted: configure the issuer to sign access tokens without encrypting them',
  },
  'encrypted by Auth0': {
    token: encrypted({ alg: 'dir', enc: 'A256GCM' }),
    says: `the token is encrypted: ${request}`,
  },
  'a variable that was not set': {
    token: 'undefined',
    says: 'the client sent a variable that was not set, or a placeholder, instead of a token',
  },
  'behind two schemes': {
    token: `Bearer Bearer ${tokenOf()}`,
    says: 'the client sent the word Bearer twice: remove one',
  },
  'without the scope': {
    token: { claims: { scope: 'other' } },
    requirements: { scope: 'write' },
    says: 'the client must request the scope write, and the issuer must grant it',
  },
  'with the scope in another claim': {
    token: { claims: { scope: undefined, scp: ['write'] } },
    requirements: { scope: 'write' },
    says: 'set SCOPE_CLAIM to scp, the claim that has the scope',
  },
  'bound, and DPoP is off': {
    token: { claims: { cnf: bound } },
    says: 'set DPOP to on for clients that send proofs, or request a token that is not bound',
  },
  'bound, without a proof': {
    token: { claims: { cnf: bound } },
    options: dpop,
    says: `a request also needs a proof in the header DPoP, signed with one of DPOP_ALGORITHMS (ES256, ES384, RS256, PS256, EdDSA)`,
  },
  'not bound, and DPoP is required': {
    token: {},
    options: { ...dpop, dpop: 'required' },
    says: 'the token is not bound to a key: the client must request it with a proof',
  },
  'without a required claim': {
    token: { claims: { azp: 'b' } },
    options: { requiredClaims: { azp: 'a' } },
    says: 'the token has azp=b, and REQUIRED_CLAIMS is azp=a: change that, or what the issuer adds',
  },
  'without a required login': {
    token: { claims: { acr: 'low' } },
    requirements: { acr: 'high' },
    says: 'the client must send the user to the issuer to log in again',
  },
  'without an end': {
    token: { claims: { exp: undefined } },
    says: 'the issuer must change the token: exp must be a number',
  },
  'of an issuer without metadata': {
    token: {},
    options: fetching(() => new Response(null, { status: 404 })),
    says: `${ISSUER} has no metadata`,
  },
  'of an issuer that is down': {
    token: {},
    options: fetching(() => new Response(null, { status: 503 })),
    says: `try again later: the keys of ${ISSUER} cannot be fetched now`,
  },
};

test.each(Object.entries(causes))('the first sentence about a token that is %s says why', async (_, cause) => {
  const { token, options, requirements, says } = cause;
  const given = { ...offline(), ...options };
  const { advice } = await explainToken(tokenOf(token), given, { words: 'settings', requirements });
  const [sentence = ''] = advice.split('. ');
  expect(sentence).toContain(says);
  // What is no part of the expected sentence is a number or a list.
  expect(sentence.replace(says, '').length, sentence).toBeLessThan(60);
});
