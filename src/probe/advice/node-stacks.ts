import type { Stack } from './topics.ts';

// Here are the settings of packages for Node.js, as in stacks.ts.

/** Express does not say which of them checks tokens. */
const express = /Express/i;

export const nodeStacks: Readonly<Record<string, Stack>> = {
  jose: {
    name: 'jose',
    says: express,
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
  jsonwebtoken: {
    name: 'jsonwebtoken',
    says: express,
    settings: {
      signature: 'jwt.verify(token, key, options), not jwt.decode',
      algorithms: "algorithms: ['RS256']",
      issuer: 'issuer: …',
      audience: 'audience: …',
      expiry: 'clockTolerance: 5, without ignoreExpiration',
      notBefore: 'clockTolerance: 5, without ignoreNotBefore',
      requireExpiry: 'check payload.exp !== undefined: the library does not',
      type: 'complete: true, and compare header.typ',
      keys: 'jwksRsa({ jwksUri, cache: true, rateLimit: true }).getSigningKey(header.kid)',
    },
  },
  'express-jwt': {
    name: 'express-jwt',
    says: express,
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
      issuer: "verify: { allowedIss: …, requiredClaims: ['iss'] }",
      audience: "verify: { allowedAud: …, requiredClaims: ['aud'] }",
      expiry: 'verify: { clockTolerance: 5000 }, without ignoreExpiration',
      requireExpiry: "verify: { requiredClaims: ['exp', 'aud', 'iss'] }",
      type: "verify: { checkTyp: 'at+jwt' }",
      place: 'no cookie option',
    },
  },
  'passport-jwt': {
    name: 'passport-jwt',
    says: express,
    settings: {
      algorithms: "algorithms: ['RS256']",
      issuer: 'issuer: …',
      audience: 'audience: …',
      expiry: 'no ignoreExpiration',
      place: 'jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken()',
    },
  },
};
