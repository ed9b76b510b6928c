// oauth2-mock-server in a process of its own. Arguments: the API identifier, the algorithm of its key. KEYS may name its keys.
// Prints one line of JSON once it listens: its issuer identifier and two clients, of which it believes anything.
import { OAuth2Server } from 'oauth2-mock-server';
import { signingKey } from '../../support/keys.ts';

const [audience, algorithm = 'RS256'] = process.argv.slice(2);
const { KEYS, PORT = '0' } = process.env;
const server = new OAuth2Server();
for (const kid of KEYS?.split(' ') ?? [])
  await server.issuer.keys.add({ ...signingKey(algorithm, kid).export({ format: 'jwk' }), kid, alg: algorithm });
if (!KEYS) await server.issuer.keys.generate(algorithm);
await server.start(Number(PORT), '127.0.0.1');
server.service.on('beforeTokenSigning', ({ payload }, { body }) => {
  // An ID token has its client here already.
  if (payload.aud === undefined) Object.assign(payload, { aud: body.resource ?? audience, scope: body.scope });
});
const client = (scope) => ({ id: 'any', secret: 'any', scope });
const clients = { reader: client('read:messages'), visitor: client('write:messages') };
process.stdout.write(`${JSON.stringify({ issuer: server.issuer.url, clients })}\n`);
