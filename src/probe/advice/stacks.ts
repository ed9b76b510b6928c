import { nodeStacks } from './node-stacks.ts';
import type { Stack } from './topics.ts';

// Here are the settings of stacks, by topic. A cell that begins with an asterisk was tried; the others are from the
// documentation of the stack.

const python = /uvicorn|gunicorn|Werkzeug|WSGIServer|hypercorn/i;

/** Stacks by the name that --stack takes. */
export const stacks: Readonly<Record<string, Stack>> = {
  pyjwt: {
    name: 'PyJWT',
    says: python,
    settings: {
      signature: '*jwt.decode(token, key, algorithms=["RS256"]) without verify_signature: False',
      algorithms: '*algorithms=["RS256"], never the alg of the header',
      issuer: '*issuer="https://…" with options={"require": ["iss"]}',
      audience: '*audience="…": without it, a token with aud is rejected, and one without passes',
      expiry: '*options without "verify_exp": False, and a small leeway',
      notBefore: '*options without "verify_nbf": False, and a small leeway',
      requireExpiry: '*options={"require": ["exp", "aud", "iss"]}',
      type: 'compare jwt.get_unverified_header(token)["typ"] after decode',
      scope: 'compare payload["scope"].split(" ")',
      keys: '*PyJWKClient(uri).get_signing_key_from_jwt(token)',
      outage: 'PyJWKClient(uri, cache_jwk_set=True, timeout=5), and catch PyJWKClientError and PyJWKSetError',
    },
  },
  'python-jose': {
    name: 'python-jose',
    settings: {
      algorithms: '*jwt.decode(token, key, algorithms=["RS256"])',
      issuer: '*issuer="https://…" and options={"require_iss": True}',
      audience: '*audience="…" and options={"require_aud": True}',
      expiry: '*options without "verify_exp": False',
      notBefore: '*options without "verify_nbf": False',
      requireExpiry: '*options={"require_exp": True}',
      keys: 'choose the key by kid yourself: a set is tried key by key',
    },
  },
  authlib: {
    name: 'Authlib',
    settings: {
      algorithms: 'JsonWebToken(["RS256"])',
      issuer: '*claims_options={"iss": {"essential": True, "value": "https://…"}}',
      audience: '*claims_options={"aud": {"essential": True, "value": "…"}}',
      expiry: 'claims.validate(leeway=5) after decode: decode alone checks no times',
      notBefore: 'claims.validate(leeway=5) after decode: decode alone checks no times',
      requireExpiry: '*claims_options={"exp": {"essential": True}}',
      type: 'JWTBearerTokenValidator of authlib.oauth2.rfc9068',
      scope: 'require_oauth("messages:read")',
    },
  },
  'golang-jwt': {
    name: 'golang-jwt',
    settings: {
      algorithms: '*jwt.WithValidMethods([]string{"RS256"})',
      issuer: '*jwt.WithIssuer("https://…")',
      audience: '*jwt.WithAudience("…")',
      expiry: '*jwt.WithLeeway(5 * time.Second), and claims that embed RegisteredClaims',
      notBefore: '*jwt.WithLeeway(5 * time.Second), and claims that embed RegisteredClaims',
      requireExpiry: '*jwt.WithExpirationRequired()',
      keys: '*keyfunc.NewDefault([]string{uri}) as the Keyfunc',
      outage: 'keyfunc.NewDefault keeps the keys, and fetches them again each hour',
    },
  },
  jwx: {
    name: 'lestrrat-go/jwx',
    settings: {
      algorithms: '*jwt.WithKeySet(set), and alg in each key',
      issuer: '*jwt.WithIssuer("https://…")',
      audience: '*jwt.WithAudience("…")',
      expiry: '*jwt.WithAcceptableSkew(5 * time.Second)',
      notBefore: '*jwt.WithAcceptableSkew(5 * time.Second)',
      requireExpiry: '*jwt.WithRequiredClaim("exp")',
      keys: '*jwk.NewCache with Register(ctx, uri)',
      outage: 'jwk.NewCache keeps the last set; give its client a Timeout',
    },
  },
  'ruby-jwt': {
    name: 'ruby-jwt',
    says: /puma|WEBrick|Phusion/i,
    settings: {
      signature: '*JWT.decode(token, key, true, …): the third argument is the verification',
      algorithms: "*algorithms: ['RS256']",
      issuer: "*iss: 'https://…', verify_iss: true, required_claims: ['iss']",
      audience: "*aud: '…', verify_aud: true, required_claims: ['aud']",
      expiry: '*verify_expiration: true (default), exp_leeway: 5',
      notBefore: '*verify_not_before: true (default), nbf_leeway: 5',
      requireExpiry: "*required_claims: ['exp']",
      keys: '*jwks: a lambda that loads the keys again if options[:kid_not_found]',
    },
  },
  'jsonwebtoken-rust': {
    name: 'jsonwebtoken (Rust)',
    settings: {
      signature: 'no insecure_disable_signature_validation',
      algorithms: '*Validation::new(Algorithm::RS256)',
      issuer: '*validation.set_issuer(&["https://…"]), and required_spec_claims',
      audience: '*validation.set_audience(&["…"]), and required_spec_claims with "aud"',
      expiry: '*validation.validate_exp = true (default), leeway = 5 (default 60)',
      notBefore: '*validation.validate_nbf = true: the default is false',
      requireExpiry: '*validation.set_required_spec_claims(&["exp", "aud", "iss"])',
      keys: 'look up JwkSet::find(&kid), and fetch the set again if it has none',
    },
  },
  spring: {
    name: 'Spring Security',
    says: /Jetty|Coyote/i,
    settings: {
      algorithms: 'spring.security.oauth2.resourceserver.jwt.jws-algorithms',
      issuer: 'spring.security.oauth2.resourceserver.jwt.issuer-uri',
      audience: 'spring.security.oauth2.resourceserver.jwt.audiences',
      expiry: 'JwtTimestampValidator(Duration.ofSeconds(5)): the default is 60 s',
      notBefore: 'JwtTimestampValidator(Duration.ofSeconds(5)): the default is 60 s',
      requireExpiry: '*JwtValidators.createAtJwtValidator()',
      type: '*withIssuerLocation(…).validateType(false), and JwtValidators.createAtJwtValidator()',
      scope: '.hasAuthority("SCOPE_messages:read")',
      outage: 'a JWKSource of JWKSourceBuilder with outageTolerant(true)',
    },
  },
  dotnet: {
    name: 'ASP.NET Core JwtBearer',
    says: /Kestrel/i,
    settings: {
      algorithms: 'TokenValidationParameters.ValidAlgorithms = ["RS256"]',
      issuer: 'ValidIssuer and ValidateIssuer = true',
      audience: 'ValidAudience and ValidateAudience = true',
      expiry: 'ValidateLifetime = true, ClockSkew = TimeSpan.FromSeconds(5): the default is five minutes',
      notBefore: 'ValidateLifetime = true, ClockSkew = TimeSpan.FromSeconds(5): the default is five minutes',
      requireExpiry: 'RequireExpirationTime = true (default)',
      type: 'ValidTypes = ["at+jwt"]',
      scope: '[RequiredScope("messages:read")]',
      keys: 'Authority, or MetadataAddress',
      outage: 'ConfigurationManager keeps the last good keys (UseLastKnownGoodConfiguration)',
    },
  },
  'php-jwt': {
    name: 'firebase/php-jwt',
    says: /PHP/i,
    settings: {
      algorithms: 'new Key($pem, "RS256"), or JWK::parseKeySet($set, "RS256")',
      issuer: 'compare $payload->iss: the library does not',
      audience: 'compare $payload->aud, which may be a list: the library does not',
      expiry: 'JWT::$leeway = 5',
      notBefore: 'JWT::$leeway = 5',
      requireExpiry: 'check isset($payload->exp): the library does not',
      keys: 'new CachedKeySet($uri, $client, $factory, $cache, $expiresAfter, true)',
    },
  },
  'mod-auth-openidc': {
    name: 'mod_auth_openidc',
    says: /Apache/i,
    settings: {
      algorithms: 'publish alg with each key, and OIDCOAuthVerifyJwksUri',
      issuer: '*Require claim iss:https://…',
      audience: '*Require claim aud:…',
      requireExpiry: 'Require claim exp~.+',
      scope: 'Require claim scope:messages:read',
      keys: 'OIDCJWKSRefreshInterval 3600',
      place: 'OIDCOAuthAcceptTokenAs header',
    },
  },
  haproxy: {
    name: 'HAProxy',
    settings: {
      signature: '*http-request deny unless { …,jwt_verify(txn.alg,"key.pem") 1 }',
      algorithms: '*http-request deny unless { http_auth_bearer,jwt_header_query("$.alg") -m str RS256 }',
      issuer: '*http-request deny unless { http_auth_bearer,jwt_payload_query("$.iss") -m str https://… }',
      audience: '*http-request deny unless { http_auth_bearer,jwt_payload_query("$.aud") -m str … }',
      expiry: '*http-request deny if { var(txn.exp),sub(txn.now) -m int lt 0 }',
      notBefore: 'http-request deny if { var(txn.nbf),sub(txn.now) -m int gt 0 }',
      requireExpiry: 'http-request deny unless { var(txn.exp) -m found }',
    },
  },
  ...nodeStacks,
};
