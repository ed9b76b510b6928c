import type { Stack } from './topics.ts';

// Here are the settings of packages for Node.js, as in stacks.ts.

export const nodeStacks: Readonly<Record<string, Stack>> = {
  jose: {
    name: 'jose',
    says: /Express/i,
    settings: {
      signature: 'jwtVerify(token, keys, options), not decodeJwt',
      algorithms: "algorithms: ['RS256']",
      issuer: 'issuer: …',
      audience: 'audience: …',
      expiry: 'clockTolerance: 5',
      notBefore: 'clockTolerance: 5',
      requireExpiry: "requiredClaims: ['exp']",
      type: "typ: 'at+jwt'",
      keys: 'createRemoteJWKSet(new URL(uri))',
      outage: 'createRemoteJWKSet(url, { cacheMaxAge, timeoutDuration, cooldownDuration })',
    },
  },
  'express-jwt': {
    name: 'express-jwt',
    settings: {
      algorithms: "algorithms: ['RS256']",
      issuer: 'issuer: …',
      audience: 'audience: …',
      keys: 'secret: jwksRsa.expressJwtSecret({ jwksUri, cache: true, rateLimit: true })',
      place: 'no getToken of your own',
    },
  },
  'fastify-jwt': {
    name: '@fastify/jwt',
    settings: {
      algorithms: "verify: { algorithms: ['RS256'] }",
      issuer: 'verify: { allowedIss: … }',
      audience: 'verify: { allowedAud: … }',
      expiry: 'verify: { clockTolerance: 5000 }, without ignoreExpiration',
      requireExpiry: "verify: { requiredClaims: ['exp', 'aud', 'iss'] }",
      type: "verify: { checkTyp: 'at+jwt' }",
      place: 'no cookie option',
    },
  },
  'passport-jwt': {
    name: 'passport-jwt',
    settings: {
      algorithms: "algorithms: ['RS256']",
      issuer: 'issuer: …',
      audience: 'audience: …',
      expiry: 'no ignoreExpiration',
      place: 'jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken()',
    },
  },
};
