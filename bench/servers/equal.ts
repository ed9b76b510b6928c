import { type Answer, answers, hostname, port } from './environment.ts';

const headersOf = ({ headers }: Answer) => new Headers(headers.map(([name, value]) => [name, value]));
const headers = {
  public: headersOf(answers.public),
  private: headersOf(answers.private),
  refusal: headersOf(answers.refusal),
};

// The real limit: what Bun.serve can do when it sends what the service sends.
Bun.serve({
  hostname,
  port,
  development: false,
  fetch(request) {
    const authorization = request.headers.get('authorization');
    const hasId = request.headers.get('x-request-id') !== null;
    const refusal = authorization === null ? 'refusal' : 'private';
    const kind = hasId || request.url.endsWith('/public') ? 'public' : refusal;
    const { status, body } = answers[kind];
    return new Response(JSON.stringify(body), { status, headers: headers[kind] });
  },
});
