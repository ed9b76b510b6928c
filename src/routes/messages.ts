import { Elysia, t } from 'elysia';
import type { Bearer } from '../auth/bearer.ts';

const response = { 200: t.Object({ message: t.String() }) };

/** Returns the API itself: one open route, and two behind the bearer plugin. */
export function createMessages(bearer: Bearer) {
  const protectedMessages = new Elysia()
    .use(bearer)
    .get(
      '/api/private',
      () => ({ message: 'Hello from a private endpoint! You need to be authenticated to see this.' }),
      {
        response,
      },
    )
    .get(
      '/api/private-scoped',
      () => ({
        message:
          'Hello from a private endpoint! You need to be authenticated and have a scope of read:messages to see this.',
      }),
      { response, scope: 'read:messages' },
    );

  return new Elysia()
    .get(
      '/api/public',
      () => ({ message: "Hello from a public endpoint! You don't need to be authenticated to see this." }),
      {
        response,
      },
    )
    .use(protectedMessages);
}
