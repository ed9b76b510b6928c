export type { IncomingRequest } from './node/incoming.ts';
export {
  authOf,
  checkIncoming,
  type Middleware,
  type OutgoingResponse,
  requireToken,
  serveMetadata,
} from './node/require-token.ts';
export type { AuthOf } from './types.ts';
