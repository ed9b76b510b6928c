import { treaty } from '@elysiajs/eden';
import type { App } from '../../src/app.ts';

/** Nothing here is run. The compiler checks what a typed client accepts. */
const { api } = treaty<App>('http://localhost:3010');

const open = await api.public.get();
// @ts-expect-error: there is no message unless the response is a 200
const message: string = open.data.message;
// @ts-expect-error: the public endpoint rejects no request
if (open.error?.status === 401) throw message;

const scoped = await api['private-scoped'].get();
if (scoped.error?.status === 403) {
  // @ts-expect-error: a 403 has one code
  scoped.error.value.code satisfies 'token_expired';
}

const plain = await api.private.get();
plain.data?.message satisfies string | undefined;
type Unauthorized = 'authorization_header_missing' | 'invalid_header' | 'invalid_claims' | 'token_expired';
if (plain.error?.status === 401) plain.error.value.code satisfies Unauthorized;
if (plain.error?.status === 503) plain.error.value.code satisfies 'key_set_unavailable';
// @ts-expect-error: only a route that requires a scope returns 403
if (plain.error?.status === 403) throw plain;

// @ts-expect-error: there is no such endpoint
await api.nothing.get();

// @ts-expect-error: the endpoints take GET only
await api.public.post();
