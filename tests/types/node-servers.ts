import express from 'express';
import { type Claims, createGuard } from 'protected-api/guard';
import { authOf, checkIncoming, requireToken } from 'protected-api/node';
import { z } from 'zod';

/** Nothing here is run. The compiler checks the types of what servers of Node.js use. */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
const guard = createGuard({ ...options, claims: z.object({ tenant: z.string() }) });
const app = express().use(requireToken(guard, { optional: true }));

app.get('/reports', requireToken(guard, { scope: 'read:reports' }), async (request, response) => {
  authOf(request).claims.exp satisfies number;
  // @ts-expect-error: without a token there are no claims
  authOf<Claims | undefined>(request).claims.exp;
  const result = await checkIncoming(guard, request, response);
  // @ts-expect-error: a request may have been rejected
  result.claims;
  result?.claims.tenant satisfies string | undefined;
});

createGuard({
  ...options,
  onRefused({ method, url, headers, ...more }) {
    [method, url, headers.get('host')] satisfies unknown[];
    // @ts-expect-error: on Node.js, a callback gets nothing else of a Request
    more.signal;
  },
  // @ts-expect-error: on Node.js, a callback does not get a whole Request
  onAccepted: (request: Request) => request.signal,
});

// @ts-expect-error: a misspelt requirement would require nothing
requireToken(guard, { scopes: 'read:reports' });
// @ts-expect-error: the options of a guard are not a guard
requireToken(options);
