export type { IncomingRequest } from './node/incoming.ts';
export type { Middleware, OutgoingResponse } from './node/require-token.ts';
export { authOf, checkIncoming, requireToken, serveMetadata } from './node/require-token.ts';
export type { AuthOf } from './types.ts';
