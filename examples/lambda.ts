import { createGuard, optionsFromEnvironment } from 'protected-api';

// AWS Lambda behind an HTTP API or a function URL, with the variables ISSUER and AUDIENCE. Start it by deploying it as:
// lambda.handler
const guard = createGuard(optionsFromEnvironment(process.env));

/** The used part of an event in payload format 2.0. */
interface HttpEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly rawPath: string;
  readonly requestContext: { readonly domainName: string; readonly http: { readonly method: string } };
}

export async function handler({ headers, rawPath, requestContext: { domainName, http } }: HttpEvent) {
  if (rawPath === '/health') return { statusCode: 200, body: 'ok' };
  const request = new Request(`https://${domainName}${rawPath}`, { method: http.method, headers });
  const result = await guard.check(request, { scope: 'read:messages' });
  const response = result instanceof Response ? result : Response.json({ hello: result.claims.sub });
  return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
}
