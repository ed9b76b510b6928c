export { type Client, createAuthorizationServer, endpoints } from './testing/authorization-server.ts';
export {
  createDevelopmentIssuer,
  type DevelopmentClient,
  type DevelopmentIssuer,
  type DevelopmentIssuerOptions,
} from './testing/development-issuer.ts';
export { createSecret, createSigner, type Signer } from './testing/signer.ts';
export { createTestIssuer, type TestIssuer, type TokenOptions } from './testing/test-issuer.ts';
export { isTrustedHost, untrustedHost } from './testing/trusted-host.ts';
