import { type Context, Elysia } from 'elysia';

const reasons = {
  key_set_unavailable: 'Signing keys are currently unavailable',
  replay_store_unavailable: 'Replay detection is currently unavailable',
  shutting_down: 'Service is shutting down',
} as const;

/** Whether the service is ready for requests, or why it is not. */
export type Readiness = 'ready' | keyof typeof reasons;

/**
 * Returns the probes: `/livez` is 200 while the process serves, `/readyz` while it should receive requests. OPTIONS
 * says the same, because HAProxy checks with it by default.
 */
export function createHealth(readiness: () => Readiness) {
  const live = () => ({ status: 'live' });
  const ready = ({ set, status }: Context) => {
    const state = readiness();
    if (state === 'ready') return { status: state };
    set.headers['retry-after'] = '1';
    return status(503, { code: state, description: reasons[state] });
  };
  return new Elysia({ detail: { hide: true } })
    .get('/livez', live)
    .options('/livez', live)
    .get('/readyz', ready)
    .options('/readyz', ready);
}
