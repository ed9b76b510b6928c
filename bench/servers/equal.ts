import { hostname, port, type Received, responses } from './environment.ts';

const headersOf = ({ headers }: Received) => new Headers(headers.map(([name, value]) => [name, value]));
const headers = {
  public: headersOf(responses.public),
  private: headersOf(responses.private),
  rejection: headersOf(responses.rejection),
};

// The real limit: what Bun.serve can do when it sends what the service sends.
Bun.serve({
  hostname,
  port,
  development: false,
  fetch(request) {
    const authorization = request.headers.get('authorization');
    const hasId = request.headers.get('x-request-id') !== null;
    const kindOfPrivate = authorization === null ? 'rejection' : 'private';
    const kind = hasId || request.url.endsWith('/public') ? 'public' : kindOfPrivate;
    const { status, body } = responses[kind];
    return new Response(JSON.stringify(body), { status, headers: headers[kind] });
  },
});
