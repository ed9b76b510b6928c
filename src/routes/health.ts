import { Elysia } from 'elysia';

/** Why the service should get no requests at the moment, or that it should. */
export type Readiness = 'ready' | 'key_set_unavailable' | 'shutting_down';

const reasons = {
  key_set_unavailable: 'The keys of the issuer are not held yet, or have become too old',
  shutting_down: 'The service is shutting down',
} as const;

/** Returns the probes: `/livez` while the process serves, `/readyz` while it should also be sent requests. */
export function createHealth(readiness: () => Readiness) {
  return new Elysia({ detail: { hide: true } })
    .get('/livez', () => ({ status: 'live' }))
    .get('/readyz', ({ status }) => {
      const state = readiness();
      return state === 'ready' ? { status: state } : status(503, { code: state, description: reasons[state] });
    });
}
