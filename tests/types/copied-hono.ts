import { type Context, Hono } from 'hono';
import { every, some } from 'hono/combine';
import { type Claims, createGuard } from 'protected-api';
import { authOf, requireToken } from 'protected-api/hono';

/** Nothing here is run. It compiles with the copy of Hono that the package imports, and with another one. */
const guard = createGuard({ issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' });

export const app = new Hono<{ Variables: { user: string } }>()
  .use(requireToken(guard))
  .use('/messages/*', requireToken(guard, { scope: 'read:messages' }), requireToken(guard))
  .use(every(requireToken(guard), some(requireToken(guard), requireToken(guard))))
  .get('/messages', requireToken(guard, { scope: 'read:messages' }), (c) => {
    // @ts-expect-error: the guard adds no variable
    c.var.claims;
    authOf(c).claims.exp satisfies number;
    // @ts-expect-error: without a token there are no claims
    authOf<Claims | undefined>(c).claims.exp;
    // @ts-expect-error: perhaps no guard has accepted it
    authOf(c, { optional: true }).claims;
    return c.text(authOf<Claims & { tenant: string }>(c).claims.tenant + c.get('user'));
  });
new Hono<{ Bindings: { KV: string } }>().get('/:id', requireToken(guard), (c) => c.text(c.env.KV + c.req.param('id')));
app.on(['GET', 'PUT'], ['/a', '/b'], requireToken(guard), (c) => c.text(authOf(c).token));
export const apart = (c: Context) => c.json(authOf(c).claims.exp satisfies number);
// @ts-expect-error: it returns middleware, and is none itself
app.use(requireToken);
