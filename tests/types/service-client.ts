import { treaty } from '@elysia/eden';
import type { App } from '../../src/app.ts';

/** Nothing here is run. The compiler checks what a typed client knows of the service. */
const { api } = treaty<App>('http://localhost:3010');

const open = await api.public.get();
// @ts-expect-error: there is no message unless the response is a 200
open.data.message satisfies string;
// @ts-expect-error: the public endpoint rejects no request
if (open.error?.status === 401) throw open;
// @ts-expect-error: the endpoints take GET only
await api.public.post();

const scoped = await api['private-scoped'].get();
// @ts-expect-error: a 403 has one code
if (scoped.error?.status === 403) scoped.error.value.code satisfies 'token_expired';
scoped.data?.message satisfies string | undefined;
type Unauthorized = 'authorization_header_missing' | 'invalid_header' | 'invalid_claims' | 'token_expired';
if (scoped.error?.status === 401) scoped.error.value.code satisfies Unauthorized;
