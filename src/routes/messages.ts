import { Elysia, t } from 'elysia';
import { type Guard, resourceServer } from 'protected-api/elysia';

/** The schema of the Message object, with the message of one endpoint as its example. */
const messageObject = (message: string) =>
  t.Object(
    { message: t.String({ description: 'Human-readable text' }) },
    { title: 'Message', examples: [{ message }] },
  );

const errorObject = <const Codes extends [string, ...string[]]>(...values: Codes) =>
  // Without `default`, the type would have the first code as its default.
  t.Object({ code: t.UnionEnum(values, { default: undefined }), description: t.String() }, { title: 'ErrorObject' });

/** The rejections of a route that requires a token, for its `response`. */
const tokenRejections = {
  401: errorObject('authorization_header_missing', 'invalid_header', 'invalid_claims', 'token_expired'),
  503: errorObject('key_set_unavailable'),
};

/** The rejection of a token without the scope that a route requires. */
const scopeRejections = { 403: errorObject('Unauthorized') };

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
      response: { 200: messageObject(authenticated), ...tokenRejections },
      detail: {
        operationId: 'getPrivateMessage',
        summary: 'Requires an access token',
        description: 'Returns a message to any client that sends a valid access token, regardless of its scopes.',
      },
    })
    .get('/api/private-scoped', () => ({ message: scoped }), {
      response: { 200: messageObject(scoped), ...tokenRejections, ...scopeRejections },
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
