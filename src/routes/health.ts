import { Elysia } from 'elysia';

const reasons = {
  key_set_unavailable: 'Signing keys are currently unavailable',
  replay_store_unavailable: 'Replay detection is currently unavailable',
  shutting_down: 'Service is shutting down',
} as const;

/** Whether the service is ready for requests, or why it is not. */
export type Readiness = 'ready' | keyof typeof reasons;

/** Returns the probes: `/livez` is 200 while the process serves, `/readyz` while it should receive requests. */
export function createHealth(readiness: () => Readiness) {
  return new Elysia({ detail: { hide: true } })
    .get('/livez', () => ({ status: 'live' }))
    .get('/readyz', ({ set, status }) => {
      const state = readiness();
      if (state === 'ready') return { status: state };
      set.headers['retry-after'] = '1';
      return status(503, { code: state, description: reasons[state] });
    });
}
