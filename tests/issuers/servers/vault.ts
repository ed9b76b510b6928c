import * as openid from 'openid-client';
import { callback } from '../../support/authorization-server.ts';
import { AUDIENCE } from '../../support/mint.ts';
import { goProgram } from '../cache.ts';
import { act } from './act.ts';
import { type RealServer, script } from './real-server.ts';
import type { Started } from './start.ts';

/** Returns the identity token of a role for a user who has logged in to Vault. */
const identityToken = (started: Started, role: string, user = 'ada') => act<string>(started, 'token', { role, user });

/** Returns the tokens of an application for which Vault is the OpenID provider. */
async function ofProvider(started: Started) {
  const client = started.clients?.reader;
  if (client === undefined) throw new Error('No client');
  const provider = new URL(`${started.issuer}/provider/default`);
  // It does not decode what clients encode in the header (RFC 6749 §2.3.1).
  const authentication = openid.ClientSecretPost(client.secret);
  const overLoopback = { execute: [openid.allowInsecureRequests] };
  const reader = await openid.discovery(provider, client.id, client.secret, authentication, overLoopback);
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
  const { code, state } = await act<Record<string, string>>(started, 'authorize', {
    ...{ user: 'ada', response_type: 'code', client_id: client.id, redirect_uri: callback, scope: 'openid' },
    ...{ state: expectedState, nonce: expectedNonce, code_challenge_method: 'S256' },
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
  });
  const at = new URL(`${callback}?${new URLSearchParams({ code: code ?? '', state: state ?? '' })}`);
  return openid.authorizationCodeGrant(reader, at, { pkceCodeVerifier, expectedState, expectedNonce });
}

const activation = 'iStore.activateDeduplication';

/** Without most plugins. It needs a state of its SDK that has no version. No change is in what identity tokens need. */
const build = {
  tags: 'minimal',
  copy: {
    module: 'github.com/hashicorp/vault',
    edits: [
      ['builtin/logical/transit/path_restore.go', 'err := b.lm.RestorePolicy', 'err := keyName, b.lm.RestorePolicy'],
      [
        'vault/identity_store.go',
        `ActivationFunc: ${activation}`,
        `ActivationFunc: func(ctx context.Context, req *logical.Request, _ string) error { return ${activation}(ctx, req) }`,
      ],
      ['vault/logical_system_activation_flags.go', 'ActivationFunc(ctx, nil)', 'ActivationFunc(ctx, nil, "")'],
    ],
  },
} as const;

export const vault: RealServer = {
  name: 'HashiCorp Vault',
  version: '1.21.4',
  page: 'vault',
  needs: ['go', 'setpriv'],
  command: async () => {
    const program = await goProgram('vault', '1.21.4', 'github.com/hashicorp/vault', build);
    return [process.execPath, script('vault.mjs'), program, AUDIENCE];
  },
  settings: { AUDIENCE },
  application: (started) => identityToken(started, 'my-api'),
  async others(started) {
    const provider = await ofProvider(started);
    return {
      userWithoutRole: await identityToken(started, 'my-api', 'bob'),
      withoutScope: await identityToken(started, 'without-groups'),
      anotherApi: await identityToken(started, 'another-api'),
      ownAudience: await identityToken(started, 'own-audience'),
      ES256: await identityToken(started, 'ES256'),
      EdDSA: await identityToken(started, 'EdDSA'),
      vaultToken: await act<string>(started, 'login', { user: 'ada' }),
      opaque: provider.access_token,
      idToken: provider.id_token,
    };
  },
  expected: {
    application: 'accepted',
    userWithoutRole: 'withoutScope',
    onlyOneEntity: ['required_claim_mismatch', { REQUIRED_CLAIMS: 'sub=another' }, 'application'],
    withoutScope: 'withoutScope',
    anotherApi: 'audience_mismatch',
    ownAudience: 'audience_mismatch',
    ES256: ['accepted', { ALGORITHMS: 'ES256' }],
    EdDSA: ['accepted', { ALGORITHMS: 'EdDSA' }],
    vaultToken: 'token_opaque',
    opaque: 'token_opaque',
    idToken: 'issuer_mismatch',
  },
};
