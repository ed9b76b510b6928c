export { createDevelopmentIssuer, type DevelopmentIssuer } from './issuer/development-issuer.ts';
export type { DevelopmentClient, DevelopmentIssuerOptions, IssuerSecrets } from './issuer/issuer-options.ts';
export type { ProofOptions, TestIssuer, TestIssuerOptions, TokenOptions } from './issuer/test-issuer.ts';
export { createTestIssuer } from './issuer/test-issuer.ts';
export type { Client } from './issuer/token-endpoint.ts';
