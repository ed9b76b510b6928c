import { describe, expect, test } from 'bun:test';
import { bearer } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, type TokenOverrides } from '../support/mint.ts';
import { rawGet } from '../support/raw-http.ts';

const PRIVATE_CLAIM = 'only-the-holder-knows';

const tokens: Readonly<Record<string, TokenOverrides>> = {
  accepted: {},
  'without the scope': { claims: { scope: '' } },
  expired: { claims: { exp: 1 } },
  'of another audience': { claims: { aud: 'https://other.example.test/' } },
  'of another issuer': { claims: { iss: 'https://other.example.test/' } },
  'without exp': { claims: { exp: undefined } },
  'not yet valid': { claims: { nbf: 4_000_000_000 } },
  bound: { claims: { cnf: { jkt: 'x' } } },
  'of an unknown key': { header: { kid: 'unknown-key' } },
  forged: { signWith: () => Buffer.alloc(256, 7) },
  'with another algorithm': { header: { alg: 'HS256' } },
  'with a payload that is no JSON': { payloadText: `${PRIVATE_CLAIM} is no JSON` },
  'with a header that is no JSON': { headerText: `${PRIVATE_CLAIM} is no JSON` },
  oversized: { claims: { note: 'n'.repeat(9000) } },
};

/** Headers and targets in which a credential can stand by mistake. */
const HEADERS = [
  'Basic dXNlcjpsZWFrZWQtcGFzc3dvcmQ=',
  'Bearer leaked-token',
  'leaked-alone',
  'Bearer leaked-one leaked-two',
];
const PATHS = ['/api/private?access_token=leaked-in-query', '/nothing/leaked-in-path?code=leaked-in-query'];

for (const form of [sourceForm, executableForm]) {
  describe(form.name, () => {
    test(
      'writes nothing of a token or of the query of an address, even with a line for each request',
      async () => {
        const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
        issuer.documents.set('/keys?leaked-in-jwks-uri', { kind: 'keys' });
        const service = await form.start({
          ISSUER: issuer.url,
          JWKS_URI: `${issuer.url}keys?leaked-in-jwks-uri`,
          AUDIENCE,
          LOG_LEVEL: 'debug',
          METRICS_PORT: '0',
        });
        const sent: string[] = [];
        for (const overrides of Object.values(tokens)) {
          const claims = { private_claim: PRIVATE_CLAIM, ...overrides.claims };
          const token = mintToken(issuer.url, { ...overrides, claims });
          sent.push(token);
          for (const path of ['/api/private', '/api/private-scoped', '/api/public'])
            await service.fetch(path, { headers: bearer(token) });
        }
        for (const header of HEADERS) await rawGet(service.origin, '/api/private', [`Authorization: ${header}`]);
        for (const path of PATHS) await rawGet(service.origin, path, ['Cookie: session=leaked-in-cookie']);
        await service.close();
        await issuer.close();

        const written = service.output();
        expect(written.split('\n').length, 'a line for each request').toBeGreaterThan(sent.length * 3);
        for (const part of sent.flatMap((token) => token.split('.'))) expect(written).not.toContain(part.slice(0, 60));
        expect(written).not.toContain(PRIVATE_CLAIM);
        for (const leak of [/leaked-(?!in-path)/, /dXNlcjps/]) expect(written).not.toMatch(leak);
      },
      form.startTimeoutMs,
    );
  });
}
