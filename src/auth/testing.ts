export {
  createDevelopmentIssuer,
  type DevelopmentClient,
  type DevelopmentIssuer,
  type DevelopmentIssuerOptions,
  type IssuerSecrets,
} from './issuer/development-issuer.ts';
export { createTestIssuer, type ProofOptions, type TestIssuer, type TokenOptions } from './issuer/test-issuer.ts';
export type { Client } from './issuer/token-endpoint.ts';
