// An application of somebody else whose global dispatcher caches, as undici documents it.
import process from 'node:process';
import { createGuard } from 'protected-api';
import { Agent, interceptors, setGlobalDispatcher } from 'undici';

const { issuer, audience, tokens } = JSON.parse(process.env.GIVEN);
setGlobalDispatcher(new Agent().compose(interceptors.cache()));
const guard = createGuard({ issuer, audience });
const say = async (kid) => {
  const headers = { authorization: `Bearer ${tokens[kid]}` };
  const result = await guard.check(new Request(audience, { headers }));
  console.log(`${kid} ${'claims' in result ? 'accepted' : 'rejected'}`);
};
const next = () => fetch(`${issuer}/next`);
const countCached = async () => (await (await fetch(`${issuer}/keys/1`)).json()).keys.length;

await say('one');
await next();
console.log(`cached: ${await countCached()}`);
await say('two');
await next();
await guard.reload();
await say('one');
await next();
await guard.reload();
await say('three');
guard.stop();
