import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { proxyOf } from '../../../src/auth/keys/fetch/proxy.ts';
import { runToEnd } from '../../support/child-process.ts';
import { serve } from '../../support/fixture.ts';
import { AUDIENCE, mintToken } from '../../support/mint.ts';

const url = 'https://issuer.example.test/keys';
const all = { HTTPS_PROXY: 'http://user:secret@proxy.test:3128' };

describe('proxyOf()', () => {
  test.each<[name: string, environment: Record<string, string>, host: string | undefined, url?: string]>([
    ['no variable', {}, undefined],
    ['the one for https, without its credentials', all, 'proxy.test:3128'],
    ['its name in lower case', { https_proxy: 'http://proxy.test' }, 'proxy.test'],
    ['a host without a scheme', { HTTPS_PROXY: 'proxy.test:3128' }, 'proxy.test:3128'],
    ['the one for all', { ALL_PROXY: 'http://proxy.test' }, 'proxy.test'],
    ['only that for http', { HTTP_PROXY: 'http://proxy.test' }, undefined],
    ['that for http', { HTTP_PROXY: 'http://proxy.test' }, 'proxy.test', 'http://issuer.example.test/'],
    ['text that is no host', { HTTPS_PROXY: 'http://' }, undefined],
    ['an empty value', { HTTPS_PROXY: '' }, undefined],
    ['an issuer on this machine', { HTTP_PROXY: 'http://proxy.test' }, undefined, 'http://127.0.0.1:1/'],
    ['an exception for all', { ...all, NO_PROXY: '*' }, undefined],
    ['an exception for its domain', { ...all, NO_PROXY: 'a.test, Example.test' }, undefined],
    ['an exception with a dot', { ...all, no_proxy: '.example.test' }, undefined],
    ['an exception with a star', { ...all, NO_PROXY: '*.example.test' }, undefined],
    ['an exception for its port', { ...all, NO_PROXY: 'issuer.example.test:443' }, undefined],
    ['an exception for another port', { ...all, NO_PROXY: 'issuer.example.test:8443' }, 'proxy.test:3128'],
    ['an exception for the end of its name', { ...all, NO_PROXY: 'ample.test' }, 'proxy.test:3128'],
    [
      'a password that ends the host of a URL',
      { HTTPS_PROXY: 'http://user:p@ss#secret@proxy.test:3128' },
      'proxy.test:3128',
    ],
    ['a scheme within credentials without a host', { HTTPS_PROXY: 'http://user:a://secret' }, undefined],
    ['a user in a domain', { HTTPS_PROXY: 'http://DOMAIN\\user:secret@proxy.test:3128' }, 'proxy.test:3128'],
    ['an exception with a dot at its end', { ...all, NO_PROXY: 'issuer.example.test.' }, undefined],
    ['an exception for a bare IPv6 address', { ...all, NO_PROXY: 'FD00::1' }, undefined, 'https://[fd00::1]/'],
    ['an exception for another address', { ...all, NO_PROXY: 'd00::' }, 'proxy.test:3128', 'https://[fd00::1]/'],
    ['an exception for a range of addresses', { ...all, NO_PROXY: '10.0.0.0/8' }, undefined, 'https://10.1.2.3/'],
    ['an exception for addresses, and a name', { ...all, NO_PROXY: '10.0.0.0/8' }, 'proxy.test:3128'],
    ['no exception', { ...all, NO_PROXY: ',' }, 'proxy.test:3128'],
  ])('with %s', (_, environment, host, from = url) => expect(proxyOf(from, environment)).toBe(host));
});

/** A proxy that does nothing but reject, and one that is not there. */
test.each([
  ['rejects', 'the proxy refused to connect to it (ERR_PROXY_TUNNEL)'],
  ['does not listen', 'ECONNREFUSED'],
])('explain says that a proxy %s, without its password', async (does, cause) => {
  await using server = serve(() => new Response(null, { status: 407 }));
  const host = does === 'rejects' ? server.url.host : '127.0.0.1:1';
  const issuer = 'https://issuer.example.test';
  const environment = { ISSUER: issuer, AUDIENCE, HTTPS_PROXY: `http://user:secret@${host}`, INPUT: mintToken(issuer) };
  const command = [process.execPath, join(import.meta.dir, '../../../src/auth/command.ts'), 'explain'];
  const { stdout } = await runToEnd(['/bin/sh', '-c', 'echo "$INPUT" | exec "$@"', 'sh', ...command], environment);
  const metadata = `${issuer}/.well-known/openid-configuration`;
  expect(stdout).toContain(`${metadata} cannot be reached: ${cause}, through the proxy ${host}\n`);
  expect(stdout).not.toContain('secret');
});
