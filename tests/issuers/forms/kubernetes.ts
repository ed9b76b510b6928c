import type { Issuer, SignedToken } from '../form.ts';

const settings = { ISSUER: 'https://kubernetes.default.svc.cluster.local', AUDIENCE: 'https://api.example.com' };
const token: SignedToken = {
  header: { alg: 'RS256', kid: 'OAjVVaejWFc0Yt9ykr0_8lMMuRNs67OXTWHsN02Pkyw' },
  claims: {
    aud: ['https://api.example.com'],
    iss: settings.ISSUER,
    jti: 'a0c7d5e2-61b3-4c6a-a2b5-2d0e1e2b1a3c',
    'kubernetes.io': {
      namespace: 'default',
      pod: { name: 'my-client-5d8f', uid: '900f80ed-bafe-49f0-9ae2-c5f0a3ac2cbe' },
      serviceaccount: { name: 'my-client', uid: 'a709ef71-30e2-489a-bd19-ade97031b9db' },
    },
    nbf: 1_700_000_000,
    sub: 'system:serviceaccount:default:my-client',
  },
  published: {
    jwksUri: 'https://kubernetes.default.svc.cluster.local/openid/v1/jwks',
    metadata: 'https://kubernetes.default.svc.cluster.local/.well-known/openid-configuration',
    key: { alg: 'RS256' },
  },
};
const eks = { ...settings, ISSUER: 'https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLED539D4633E53DE1B71EXAMPLE' };

export const kubernetes: Issuer = {
  name: 'Kubernetes service accounts',
  sources: ['https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/'],
  request: 'kubectl create token my-client --audience https://api.example.com',
  forms: [
    {
      name: 'Projected token, inside the cluster',
      settings,
      token,
      outcome: 'no scope',
      advice:
        'The client mounts a token with `serviceAccountToken.audience` set to `AUDIENCE`. Give the service `NODE_EXTRA_CA_CERTS=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt`, and let it read the metadata: `kubectl create clusterrolebinding issuer-discovery --clusterrole=system:service-account-issuer-discovery --group=system:unauthenticated`. These tokens have no scopes: `/api/private` accepts them, `/api/private-scoped` does not. Set `JWKS_URI=https://kubernetes.default.svc.cluster.local/openid/v1/jwks` if the metadata names an address that is not in the certificate.',
    },
    {
      name: 'One service account only',
      settings: { ...settings, REQUIRED_CLAIMS: 'sub=system:serviceaccount:default:my-client' },
      token,
      outcome: 'no scope',
      advice: '`sub` names namespace and service account.',
    },
    {
      name: 'Another service account',
      settings: { ...settings, REQUIRED_CLAIMS: 'sub=system:serviceaccount:default:my-client' },
      token: { ...token, claims: { ...token.claims, sub: 'system:serviceaccount:default:other' } },
      outcome: 'invalid_claims',
      advice: 'That is what the setting is for.',
    },
    {
      name: 'A cluster whose issuer is public, such as Amazon EKS',
      settings: eks,
      token: {
        ...token,
        claims: { ...token.claims, iss: eks.ISSUER },
        published: { jwksUri: `${eks.ISSUER}/keys`, metadata: `${eks.ISSUER}/.well-known/openid-configuration` },
      },
      outcome: 'no scope',
      advice: 'Neither a certificate nor a role binding is needed.',
    },
    {
      name: 'The token that every pod gets',
      settings,
      token: { ...token, claims: { ...token.claims, aud: [settings.ISSUER] } },
      outcome: 'invalid_claims',
      advice: 'Its audience is the API server of the cluster. Mount one with an audience of its own.',
    },
  ],
};
