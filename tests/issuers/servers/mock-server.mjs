// oauth2-mock-server in a process of its own. Arguments: the API identifier, the algorithm of its key.
// Prints one line of JSON once it listens: its issuer identifier and two clients, of which it believes anything.
import { OAuth2Server } from 'oauth2-mock-server';

const [audience, algorithm] = process.argv.slice(2);
const server = new OAuth2Server();
await server.issuer.keys.generate(algorithm);
await server.start(0, '127.0.0.1');
server.service.on('beforeTokenSigning', (token, request) => {
  token.payload.aud = audience;
  token.payload.scope = request.body.scope;
});
const client = (scope) => ({ id: 'any', secret: 'any', scope });
const clients = { reader: client('read:messages'), visitor: client('write:messages') };
process.stdout.write(`${JSON.stringify({ issuer: server.issuer.url, clients })}\n`);
