import { afterAll, expect, test } from 'bun:test';
import { FetchError, fetchJwkSet } from '../../src/auth/jwk-set.ts';
import { startIssuer } from '../support/issuer.ts';

test('fetchJwkSet() says what kind of failure it was, and the status, and nothing of the answer', async () => {
  const issuer = await startIssuer();
  afterAll(() => issuer.close());
  issuer.mode = { kind: 'answer', status: 418, text: 'secret of the issuer' };
  const uri = `${issuer.url}.well-known/jwks.json`;
  const error = await fetchJwkSet(fetch, uri, AbortSignal.timeout(5000)).catch((thrown: unknown) => thrown);
  if (!(error instanceof FetchError)) throw error;
  const { failure, status, message } = error;
  expect({ failure, status, message }).toEqual({
    failure: 'status',
    status: 418,
    message: 'Cannot fetch the key set: status',
  });
});
