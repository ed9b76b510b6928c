import { audience, issuer } from '../harness/tokens.ts';
import type { Responses } from './environment.ts';

/** In HAProxy's single quotes, an apostrophe has to be spelt outside of them. */
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const respond = (body: object) =>
  `http-request return status 200 content-type application/json string ${quote(JSON.stringify(body))}`;

/**
 * Returns a configuration in which HAProxy itself responds, as its manual's example for `jwt_verify` checks tokens:
 * with one key from a file. It cannot search an array, so the audience has to be the first.
 */
export function haproxyConfiguration(port: number, publicKeyFile: string, responses: Responses): string {
  return `global
  nbthread 1
  maxconn 1000
defaults
  mode http
  timeout client 30s
  timeout connect 5s
  timeout server 30s
  timeout http-keep-alive 30s
frontend api
  bind 127.0.0.1:${port}
  ${respond(responses.public.body)} if { path /api/public }
  http-request return status 404 content-type application/json string '{}' unless { path /api/private }
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')
  http-request deny deny_status 401 unless { var(txn.alg) -m str RS256 }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"${publicKeyFile}") 1 }
  http-request set-var(txn.exp) var(txn.bearer),jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_payload_query('$.iss') -m str ${issuer} }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_payload_query('$.aud[0]') -m str ${audience} }
  http-request deny deny_status 401 unless { var(txn.exp),sub(txn.now) -m int gt 0 }
  ${respond(responses.private.body)}
`;
}
