import { treaty } from '@elysia/eden';
import { Elysia } from 'elysia';
import type { app } from './exported-application.ts';

/** A client that knows the application by its declaration only. */
const { me, reports } = treaty<typeof app>('http://localhost');
const { data, error } = await me.get();
data satisfies string | null;
// @ts-expect-error: it is text
data satisfies number | null;
if (error?.status === 503) error.value.error satisfies 'temporarily_unavailable';
// @ts-expect-error: only a route that requires a scope, or `authorize`, returns 403
if (error?.status === 403) throw error;
const denied = await reports.get();
if (denied.error?.status === 403) denied.error.value.error satisfies 'insufficient_scope' | 'access_denied';

// A plugin that is loaded.
new Elysia().use((await import('./exported-plugin.ts')).auth).get('/', ({ claims }) => claims.iss);
