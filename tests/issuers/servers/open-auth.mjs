// OpenAuth in a process of its own. Prints one line of JSON once it listens: its issuer identifier, and the tokens that its
// own client got with the authorization code grant, because its token endpoint serves no general client (no token_type).
import { join } from 'node:path';
import { createClient } from '@openauthjs/openauth/client';
import { issuer as createIssuer } from '@openauthjs/openauth/issuer';
import { MemoryStorage } from '@openauthjs/openauth/storage/memory';
import { createSubjects } from '@openauthjs/openauth/subject';

const [audience] = process.argv.slice(2);
const { DATA, PORT = '0' } = process.env;
let respond = () => new Response(null, { status: 503 });
const server = Bun.serve({ hostname: '127.0.0.1', port: Number(PORT), fetch: (request) => respond(request) });
const issuer = `http://127.0.0.1:${server.port}`;

/** Signs in at once whoever is named in the path. */
const atOnce = (permissions) => ({
  type: 'at-once',
  init: (routes, context) => routes.get('/authorize', (request) => context.success(request, { permissions })),
});
const anything = { '~standard': { version: 1, vendor: 'tests', validate: (value) => ({ value }) } };
const log = console.log;
console.log = () => {};
const app = createIssuer({
  subjects: createSubjects({ user: anything }),
  storage: MemoryStorage(DATA && { persist: join(DATA, 'storage.json') }),
  providers: { reader: atOnce(['read:messages']), visitor: atOnce([]) },
  success: (context, { permissions }) => context.subject('user', { permissions }),
});
respond = app.fetch;

/** The client names itself as the API: OpenAuth puts the client into `aud`. */
async function signIn(provider, clientID = audience) {
  const client = createClient({ clientID, issuer });
  const page = 'http://localhost/signed-in';
  const { url, challenge } = await client.authorize(page, 'code', { provider, pkce: true });
  let next = url;
  let cookie = '';
  while (!next.startsWith(page)) {
    const response = await fetch(new URL(next, issuer), { redirect: 'manual', headers: { cookie } });
    cookie = response.headers.get('set-cookie')?.replace(/;.*/, '') ?? cookie;
    next = response.headers.get('location');
  }
  const code = new URL(next).searchParams.get('code');
  const { tokens, err } = await client.exchange(code, page, challenge.verifier);
  if (err) throw err;
  return tokens;
}
const { access: reader, refresh } = await signIn('reader');
const { access: visitor } = await signIn('visitor');
const { access: stranger } = await signIn('reader', 'another-client');
log(JSON.stringify({ issuer, clients: {}, tokens: { reader, visitor, refresh, stranger } }));
