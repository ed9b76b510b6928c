import { afterAll, expect } from 'bun:test';
import type { Environment } from '../support/child-process.ts';
import { type Fixture, startFixture } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';

/**
 * Starts a service for the tests of the enclosing describe(). They end neither the process nor its secrets: its output
 * has no token.
 */
export async function attackedService(settings: Environment = {}) {
  const fixture = await startFixture(sourceForm, { settings });
  afterAll(async () => {
    expect(fixture.service.output()).not.toMatch(/eyJ[\w-]{20,}|"level":"error"/);
    expect(await fixture.service.close()).toBe(0);
    await fixture.issuer.close();
  });
  return fixture;
}

export async function expectServing({ service, get, mint }: Fixture): Promise<void> {
  expect((await get('/api/private', mint())).status).toBe(200);
  expect((await service.fetch('/api/private')).status).toBe(401);
}
