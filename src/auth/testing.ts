export {
  createDevelopmentIssuer,
  type DevelopmentClient,
  type DevelopmentIssuer,
  type DevelopmentIssuerOptions,
  type IssuerSecrets,
} from './testing/development-issuer.ts';
export { createTestIssuer, type TestIssuer, type TokenOptions } from './testing/test-issuer.ts';
export type { Client } from './testing/token-endpoint.ts';
