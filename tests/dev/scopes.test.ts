import { expect, test } from 'bun:test';
import { createEmbeddedIssuer, createIssuerSecrets } from '../../src/dev/issuer.ts';

const origin = 'http://127.0.0.1:3010';

test('createEmbeddedIssuer() grants the reader each scope that the routes have at the time, and the visitor none', async () => {
  const secrets = createIssuerSecrets();
  const scopes = ['read:messages'];
  const { routes, clients } = createEmbeddedIssuer({
    issuer: `${origin}/`,
    audience: origin,
    secrets,
    scopes: () => scopes,
  });
  const grant = async (id: 'reader' | 'visitor') => {
    const { secret } = secrets.clients[id];
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret });
    const response = await routes.handle(new Request(`${origin}/oauth/token`, { method: 'POST', body }));
    return ((await response.json()) as { readonly scope?: string }).scope;
  };
  const readSupported = async () => {
    const response = await routes.handle(new Request(`${origin}/.well-known/oauth-authorization-server`));
    return ((await response.json()) as { readonly scopes_supported: readonly string[] }).scopes_supported;
  };
  expect(await grant('reader')).toBe('read:messages');

  scopes.push('write:messages');
  expect(await grant('reader')).toBe('read:messages write:messages');
  expect(await grant('visitor')).toBeUndefined();
  expect(await readSupported()).toEqual(scopes);
  expect(clients().map(({ scope }) => scope)).toEqual(['read:messages write:messages', '']);
});
