import { type AudienceByIssuerOptions, type GuardPlugin, resourceServer } from 'protected-api/elysia';

/** With `isolatedDeclarations`, the types of exports are written down. */
const issuer = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
export const options: AudienceByIssuerOptions = {
  issuer: [issuer, { ...issuer, issuer: 'https://second.example.test/' }],
};
export const auth: GuardPlugin = resourceServer(options);
