export type { IncomingRequest } from './node/incoming.ts';
export {
  type AuthOf,
  authOf,
  checkIncoming,
  type Middleware,
  type OutgoingResponse,
  requireToken,
} from './node/require-token.ts';
