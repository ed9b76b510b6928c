import { hostname, port, privateMessage, publicMessage } from './environment.ts';

// The baseline: what Bun.serve can do when nothing is checked.
Bun.serve({
  hostname,
  port,
  development: false,
  fetch: (request) => Response.json(request.url.endsWith('/public') ? publicMessage : privateMessage),
});
