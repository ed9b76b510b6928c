import { Elysia } from 'elysia';

/** Elysia's own `trace`, as instrumentation calls it before it imports the guard. Import this module first. */
export const { trace: originalTrace } = Elysia.prototype;
