import { expect, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { expectError } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';

test('a forgotten slash of the issuer is logged with both addresses, and is no fault of the token', async () => {
  const issuer = await startIssuer();
  const configured = issuer.url.slice(0, -1);
  const metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}keys` };
  issuer.documents.set('/.well-known/openid-configuration', { kind: 'answer', text: JSON.stringify(metadata) });
  const service = await sourceForm.start({ ISSUER: configured, AUDIENCE });
  await until(() => /issuer_mismatch.*\n/.test(service.output()), 'the log names the reason');
  const lines = service.output().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ issuer: configured, found: issuer.url }),
  );
  const response = await service.fetch('/api/private', { headers: bearer(mintToken(issuer.url)) });
  await expectError(response, 503, 'key_set_unavailable', undefined);
  await service.close();
  await issuer.close();
}, 120_000);
