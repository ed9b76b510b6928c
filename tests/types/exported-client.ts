import { treaty } from '@elysia/eden';
import { Elysia } from 'elysia';
import type { app } from './exported-application.ts';

/** A client that knows the application by its declaration only. */
const { me, messages } = treaty<typeof app>('http://localhost');
const { data, error } = await me.get();
data satisfies string | null;
// @ts-expect-error: it is text
data satisfies number | null;
// @ts-expect-error: the route does not declare the rejections
if (error?.status === 503) error.value.error satisfies string;
const denied = await messages.get();
if (denied.error?.status === 403) denied.error.value.error satisfies 'insufficient_scope';

// A plugin that is loaded.
new Elysia().use((await import('./exported-plugin.ts')).auth).get('/', ({ claims }) => claims.iss);
