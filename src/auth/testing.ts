export { createDevelopmentIssuer, type DevelopmentIssuer } from './issuer/development-issuer.ts';
export type { DevelopmentClient, DevelopmentIssuerOptions, IssuerSecrets } from './issuer/issuer-options.ts';
export {
  createTestIssuer,
  type ProofOptions,
  type TestIssuer,
  type TestIssuerOptions,
  type TokenOptions,
} from './issuer/test-issuer.ts';
export type { Client } from './issuer/token-endpoint.ts';
