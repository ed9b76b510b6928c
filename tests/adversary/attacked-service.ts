import { expect } from 'bun:test';
import type { Environment } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, mintToken } from '../support/mint.ts';

/** Starts a service for the tests of the enclosing describe(). They end neither the process nor its secrets: its output has no token. */
export const attackedService = (settings: Environment = {}) =>
  startedFor(
    sourceForm.startTimeoutMs,
    async () => {
      const issuer = await startIssuer();
      const service = await sourceForm.start({ ISSUER: issuer.url, AUDIENCE, ...settings });
      const mint = () => mintToken(issuer.url);
      const expectServing = async () => {
        expect((await service.fetch('/api/private', { headers: bearer(mint()) })).status).toBe(200);
        expect((await service.fetch('/api/private')).status).toBe(401);
      };
      return { issuer, service, mint, expectServing };
    },
    async ({ issuer, service }) => {
      expect(service.output()).not.toMatch(/eyJ[\w-]{20,}|"level":"error"/);
      expect(await service.close()).toBe(0);
      await issuer.close();
    },
  );
