import type { AnyElysia } from 'elysia';
import type { Instance } from '../../../src/auth/elysia/internals.ts';
import { type GuardOptions, resourceServer } from '../../../src/auth/elysia.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/mint.ts';

const shared = offline();

/** Plugins with the same options are equal: nested ones verify a token once. */
export const guard = (options: Partial<GuardOptions> = {}, settings: object = {}) =>
  resourceServer({ ...shared, ...options }, settings);

/** Returns an application with the parts that the adapter uses. */
export const partsOf = (app: AnyElysia) => app as unknown as Instance;

export const token = (claims: Record<string, unknown> = {}) => bearer(tokenOf({ claims }));

export const request = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init);

export const send = (app: AnyElysia, path: string, init?: RequestInit): Promise<Response> =>
  app.handle(request(path, init));

export const statuses = (app: AnyElysia, path: string, headers: readonly Record<string, string>[]) =>
  Promise.all(headers.map(async (each) => (await send(app, path, { headers: each })).status));
