/** Why the store cannot determine whether a proof was used. Never the server's message, which can repeat what was sent. */
export const storeFailures = ['connection', 'timeout', 'full', 'refused', 'overloaded', 'forgotten'] as const;

export type StoreFailure = (typeof storeFailures)[number];

/** The replay store cannot determine whether a proof was used. */
export class StoreError extends Error {
  constructor(readonly failure: StoreFailure) {
    super(`Cannot mark a proof as used: ${failure}`);
  }
}

/** Returns the failure of an error that Bun's client or the store has thrown. */
export function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreError) return error.failure;
  const isReply = error instanceof Error && 'code' in error && error.code === 'ERR_REDIS_SERVER_ERROR';
  if (!isReply) return 'connection';
  return error.message.startsWith('OOM') ? 'full' : 'refused';
}
