export { createDevelopmentIssuer, type DevelopmentIssuer } from './testing/development-issuer.ts';
export type { DevelopmentClient, DevelopmentIssuerOptions, IssuerSecrets } from './testing/development-options.ts';
export type { ProofOptions, TestIssuer, TestIssuerOptions, TokenOptions } from './testing/test-issuer.ts';
export { createTestIssuer } from './testing/test-issuer.ts';
export type { Client } from './testing/token-endpoint.ts';
