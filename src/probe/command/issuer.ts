import { createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../forge/authority.ts';
import { startServedIssuer } from '../issuer/served-issuer.ts';

// Here the command's issuer is started, and what an API must be set to is written for it.

/** What an issuer is started with. */
interface Wanted {
  /** A number, checked with the other flags. */
  readonly port: string;
  readonly audience: string;
  /** Whether it listens with TLS. */
  readonly hasTls: boolean;
}

/** Starts an issuer, and returns the settings for an API, with the names of files that end with it. */
export async function serveIssuer({ port: given, audience, hasTls }: Wanted) {
  const port = Number(given);
  const authority = hasTls ? createAuthority() : undefined;
  const served = await startServedIssuer({ port, audience, tls: authority?.server }).catch(() => {
    throw new TypeError(`Cannot listen on port ${port}: it is taken. Choose another with --serve-issuer`);
  });
  const folder = mkdtempSync(join(tmpdir(), 'protected-api-probe-'));
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const { url } = served.server;
  const [jwk] = served.issuer.options.keys.keys;
  const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const settings = {
    ISSUER: url,
    AUDIENCE: audience,
    JWKS_URI: `${url}.well-known/jwks.json`,
    PUBLIC_KEY_FILE: write('public-key.pem', String(pem)),
    ...(authority && { CA_FILE: write('authority.pem', authority.certificate) }),
  };
  return {
    ...served,
    settings,
    async close() {
      await served.server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The variables by which runtimes and clients find an authority beside their own. */
export const trusting = ({ CA_FILE: file }: { readonly CA_FILE?: string | undefined }): Record<string, string> =>
  file === undefined
    ? {}
    : Object.fromEntries(
        ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'].map((name) => [name, file]),
      );
