import * as client from 'openid-client';

// A client that proves possession of its key (RFC 9449), for the service with its development issuer:
// DPOP=on PUBLIC_URL=http://localhost:3010 bun run src/index.ts
// In another terminal, start it with:
// CLIENT_ID=reader CLIENT_SECRET=SECRET bun run dpop-client.ts

const { API = 'http://localhost:3010', CLIENT_ID = '', CLIENT_SECRET } = process.env;
const config = await client.discovery(new URL(`${API}/`), CLIENT_ID, CLIENT_SECRET, undefined, {
  algorithm: 'oauth2',
  execute: [client.allowInsecureRequests], // only for http://localhost
});
const options = { DPoP: client.getDPoPHandle(config, await client.randomDPoPKeyPair()) };
const { access_token } = await client.clientCredentialsGrant(config, { audience: API }, options);

const url = new URL(`${API}/api/private`);
const response = await client.fetchProtectedResource(config, access_token, url, 'GET', undefined, undefined, options);
console.log(response.status, await response.json());
