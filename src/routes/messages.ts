import { Elysia, t } from 'elysia';
import { type Guard, resourceServer } from 'protected-api';
import { guardResponses, scopeResponses } from './error-responses.ts';

/** The schema of the Message object, with the message of one endpoint as its example. */
const messageObject = (message: string) =>
  t.Object(
    { message: t.String({ description: 'Human-readable text' }) },
    { title: 'Message', examples: [{ message }] },
  );

/** The scope that one of the routes requires. */
export const messagesScope = 'read:messages';

const open = "Hello from a public endpoint! You don't need to be authenticated to see this.";
const authenticated = 'Hello from a private endpoint! You need to be authenticated to see this.';
const scoped =
  'Hello from a private endpoint! You need to be authenticated and have a scope of read:messages to see this.';

/** Returns the API itself: one public route, and two behind the guard. */
export function createMessages(guard: Guard) {
  const protectedMessages = new Elysia()
    .use(resourceServer(guard))
    .get('/api/private', () => ({ message: authenticated }), {
      response: { 200: messageObject(authenticated), ...guardResponses },
      detail: {
        operationId: 'getPrivateMessage',
        summary: 'Requires an access token',
        description: 'Returns a message to any client that sends a valid access token, regardless of its scopes.',
      },
    })
    .get('/api/private-scoped', () => ({ message: scoped }), {
      response: { 200: messageObject(scoped), ...guardResponses, ...scopeResponses },
      scope: messagesScope,
      detail: {
        operationId: 'getScopedMessage',
        summary: 'Requires the scope read:messages',
        description: 'Returns a message to clients whose access token has the scope `read:messages`.',
      },
    });

  return new Elysia({ tags: ['Messages'] })
    .get('/api/public', () => ({ message: open }), {
      response: { 200: messageObject(open) },
      detail: {
        operationId: 'getPublicMessage',
        summary: 'Public',
        description: 'Returns a message to every client. No access token is needed.',
      },
    })
    .use(protectedMessages);
}
