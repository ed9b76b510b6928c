import { exampleDocument } from '../openapi/example-document.ts';
import { load } from './blocks.ts';

const parse = async (response: Response | Promise<Response>) => (await (await response).json()) as object;

/** The OpenAPI documents that users of the service and readers of the guide get, by what they describe. */
export const documents: Readonly<Record<string, object>> = {
  'the service': await exampleDocument({}),
  'the service without a token endpoint': await exampleDocument({
    ISSUER: 'https://issuer.example.test/realms/one',
    JWKS_URI: 'https://issuer.example.test/realms/one/certs',
  }),
  'the service with DPoP required': await exampleDocument({
    ...{ DPOP: 'required', PUBLIC_URL: 'https://api.example.test', DPOP_NONCE_SECRET: 'a'.repeat(32) },
  }),
  'the guide for Elysia': await parse(
    (await load('guides/openapi')).app.handle(new Request('http://localhost/openapi/json')),
  ),
  'the recipe for Hono': await parse((await load('guides/openapi#Hono and Express 2')).app.request('/openapi.json')),
};
