import { $ } from 'bun';

const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
const names = ['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];

/**
 * Writes a certificate authority `ca`, certificates of it for `server`, `a` and `b`, and the self-signed `own` to a
 * folder, each as NAME.pem and NAME.key. `server.both` is both of them.
 */
export async function writeCertificates(folder: string): Promise<void> {
  for (const name of ['ca', 'own'])
    await $`openssl req -x509 ${key} -subj /CN=${name} -keyout ${name}.key -out ${name}.pem`.cwd(folder).quiet();
  for (const name of ['server', 'a', 'b']) {
    const of = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', `/CN=${name}`, ...names];
    await $`openssl req -x509 ${key} ${of} -keyout ${name}.key -out ${name}.pem`.cwd(folder).quiet();
  }
  await $`cat server.pem server.key > server.both`.cwd(folder).quiet();
}

/** Runs curl with the certificate of a client, and returns what it prints; undefined if it gets no response. */
export async function curl(folder: string, client: string | undefined, ...args: readonly string[]) {
  const identity = client ? ['--cert', `${client}.pem`, '--key', `${client}.key`] : [];
  const { exitCode, stdout } = await $`curl --silent --cacert ca.pem ${identity} ${args}`.cwd(folder).nothrow().quiet();
  return exitCode === 0 ? stdout.toString() : undefined;
}
