export { describeRejections, type Rejection } from './guard/describe-rejections.ts';
export type { DescribedResponse } from './guard/describe-responses.ts';
export { describeResponses } from './guard/describe-responses.ts';
export { createGuard } from './guard/guard.ts';
export { type IssuerMetadata, issuerMetadata } from './guard/issuer-metadata.ts';
export { RejectionError } from './guard/rejection-error.ts';
export { optionsFromEnvironment } from './options/environment.ts';
export type * from './types.ts';
