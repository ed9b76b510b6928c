import { expect, test } from 'bun:test';
import { createTestIssuer } from 'protected-api/testing';
import type { ProbeOptions, ProbeResponse } from 'protected-api-probe';
import { publishElsewhere } from '../../../src/probe/issuer/served-issuer.ts';
import { runProbe } from '../../../src/probe/run/probe.ts';
import { rows } from '../../../src/probe/run/rows.ts';
import { type Challenge, expectError, expectMessage, expectProtected } from '../../support/expect-error.ts';
import { type Fixture, PRIVATE, SCOPED } from '../../support/fixture.ts';
import { rsaKey } from '../../support/keys.ts';
import { AUDIENCE, SCOPE, SIGNING_KID } from '../../support/mint.ts';

/** Tries a server with the whole probe, for the issuer of its fixture, and returns the report and the responses. */
export async function tried({ service, issuer }: Fixture, options: Partial<ProbeOptions> = {}) {
  const key = { ...rsaKey(SIGNING_KID).export({ format: 'jwk' }), kid: SIGNING_KID };
  const testIssuer = await createTestIssuer({ issuer: issuer.url, audience: AUDIENCE, key });
  publishElsewhere(issuer, testIssuer.options.keys.keys);
  const responses: ProbeResponse[] = [];
  const targets = [{ url: service.origin + PRIVATE }, { url: service.origin + SCOPED, scope: SCOPE }];
  const onResponse = (response: ProbeResponse) => responses.push(response);
  // It waits for time to pass, and other tests freeze it.
  const skip = [...(options.skip ?? []), 'cache-expired'];
  const report = await runProbe({ issuer: testIssuer, targets, onResponse, ...options, skip }, issuer);
  expect(report.failed).toEqual([]);
  expect(report.warnings).toEqual([]);
  return { report, responses };
}

/** The first row of each topic, for what differs from a server that gets every row in its form only. */
export const oneOfEach = [...new Map(rows.toReversed().map(({ id }) => [id.replace(/-.*/, ''), id])).values()].filter(
  (id) => !/^(?:given|mcp)-/.test(id),
);

/** As `tried`, for a server that decides every row itself. */
export async function probed(fixture: Fixture, options?: Partial<ProbeOptions>) {
  const { report, responses } = await tried(fixture, options);
  expect(report.inconclusive).toEqual([]);
  return { report, responses };
}

type Expected = readonly [code: string, challenge?: Challenge, status?: number];
const missing: Expected = ['authorization_header_missing'];
const [scheme, credentials]: readonly Expected[] = [
  ['invalid_header', 'bare'],
  ['invalid_header', 'invalid_request'],
];
/** What the specification has for the rejections of a row, by its ID or topic; any other is `invalid_header`. */
const expected: Readonly<Record<string, Expected | undefined>> = {
  ...{ control: missing, no: missing, path: missing, elsewhere: missing, manners: missing, 'cache-anonymous': missing },
  ...Object.fromEntries(['no-error', 'status-no-token'].map((name) => [`challenge-${name}`, missing])),
  ...{
    scheme,
    credentials,
    'challenge-invalid-request': credentials,
    'no-token-default-password': scheme,
    'no-token-other-scheme': scheme,
  },
  ...Object.fromEntries(
    ['issuer', 'audience', 'kind-id-token', 'kind-logout-other'].map((id) => [id, ['invalid_claims']]),
  ),
  ...{ expiry: ['token_expired'], 'challenge-status-expired': ['token_expired'] },
  ...Object.fromEntries(
    ['scope', 'challenge-scope-status', 'challenge-scope-error'].map((id) => [id, ['Unauthorized', undefined, 403]]),
  ),
};
/** Rows whose requests are rejected for several reasons. */
const isMixed = (row: string) =>
  /^error-|^credentials-(?:twice|parameter|second-token|two-headers-basic)$|^challenge-(?:present|scheme|syntax)$|^cache-refusal$/.test(
    row,
  );

/**
 * Registers the probe, or these rows of it, for a form of the service. Each of its responses must also be one of the
 * specification.
 */
export function probeRows(fixture: () => Fixture, only?: readonly string[]): void {
  test('withstands the probe, with responses of the specification', async () => {
    const { report, responses } = await probed(fixture(), { only });
    expect(report.passed.length).toBeGreaterThan(only ? only.length : 500);
    // How a server responds to OPTIONS, and to a path that a parser would change, is decided by its router.
    const ofTargets = responses.filter(
      ({ url, text, method }) =>
        text !== '' && method !== 'OPTIONS' && [PRIVATE, SCOPED].includes(url.replace(/^https?:\/\/[^/]*|[?].*/g, '')),
    );
    const met = new Set<string>();
    for (const { row, status, headers, text } of ofTargets) {
      const response = new Response(text, { status, headers });
      expectProtected(response);
      if (status === 200) await expectMessage(response);
      else if (!isMixed(row)) {
        const [code, challenge, wanted = 401] = expected[row] ?? expected[row.replace(/-.*/, '')] ?? ['invalid_header'];
        await expectError(response, wanted, code, challenge);
        met.add(code);
      }
    }
    expect(met.size).toBe(5);
  });
}
