export type { AuthOf } from './guard/guard.ts';
export type { IncomingRequest } from './node/incoming.ts';
export {
  authOf,
  checkIncoming,
  type Middleware,
  type OutgoingResponse,
  requireToken,
  serveMetadata,
} from './node/require-token.ts';
