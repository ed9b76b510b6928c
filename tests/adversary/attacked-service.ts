import { expect } from 'bun:test';
import type { Environment } from '../support/child-process.ts';
import { type Fixture, startedFor, startFixture } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';

/** Starts a service for the tests of the enclosing describe(). They end neither the process nor its secrets: its output has no token. */
export const attackedService = (settings: Environment = {}) =>
  startedFor(
    () => startFixture(sourceForm, { settings }),
    async ({ issuer, service }) => {
      expect(service.output()).not.toMatch(/eyJ[\w-]{20,}|"level":"error"/);
      expect(await service.close()).toBe(0);
      await issuer.close();
    },
  );

export async function expectServing({ service, get, mint }: Fixture): Promise<void> {
  expect((await get('/api/private', mint())).status).toBe(200);
  expect((await service.fetch('/api/private')).status).toBe(401);
}
