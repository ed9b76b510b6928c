import { anonymousRows } from '../requests/anonymous.ts';
import { cacheRows } from '../requests/caches.ts';
import { challengeRows } from '../requests/challenges.ts';
import { credentials } from '../requests/credentials.ts';
import { dpopRows } from '../requests/dpop.ts';
import { errorRows } from '../requests/errors.ts';
import { fetchRows, rotationRows } from '../requests/keys.ts';
import { mcpRows } from '../requests/mcp.ts';
import { mcpMetadataRows } from '../requests/mcp-metadata.ts';
import { mcpTokenRows } from '../requests/mcp-tokens.ts';
import { metadataRows } from '../requests/metadata.ts';
import { responses } from '../requests/responses.ts';
import { routeRows } from '../requests/routes.ts';
import type { Row } from '../row/row.ts';
import { algorithmTokens } from '../tokens/algorithms.ts';
import { claimTokens, timeTokens } from '../tokens/claims.ts';
import { alteredTokens, encodings } from '../tokens/encodings.ts';
import { forgeries } from '../tokens/forgeries.ts';
import { hmacs } from '../tokens/hmacs.ts';
import { audienceTokens, issuerTokens } from '../tokens/identity.ts';
import { keyIdTokens, keyTokens } from '../tokens/keys.ts';
import { kindTokens } from '../tokens/kinds.ts';
import { goodTokens, scopeTokens } from '../tokens/scopes.ts';
import { givenTokens, texts } from '../tokens/texts.ts';

const aroundTokens = [
  ...anonymousRows,
  ...credentials,
  ...routeRows,
  ...cacheRows,
  ...challengeRows,
  ...errorRows,
  ...responses,
];

/** Rows about requests. */
export const requestRows = [...rotationRows, ...aroundTokens, ...metadataRows, ...dpopRows, ...fetchRows];

/** Every row in order: first those for which keys are fetched, last those after which none are. */
export const rows: readonly Row[] = [
  ...[...rotationRows, ...keyTokens, ...givenTokens, ...aroundTokens, ...metadataRows],
  ...[...mcpMetadataRows, ...mcpRows, ...mcpTokenRows],
  ...[...goodTokens, ...algorithmTokens, ...forgeries, ...hmacs, ...alteredTokens, ...encodings, ...texts],
  ...[...issuerTokens, ...audienceTokens, ...timeTokens, ...claimTokens, ...kindTokens, ...scopeTokens],
  ...[...dpopRows, ...keyIdTokens, ...fetchRows],
];

/** A row of the course of a run. */
export type Own = Omit<Row, 'run' | 'requests'>;
export const noToken: Own = {
  ...{ id: 'no-token', rule: 'RFC 6750 §3', level: 'must', needs: 'nothing' },
  ...{ sent: 'no token', expected: 'a rejection (4xx)' },
  remedy: 'Guard the route. A rejection is a matter of the status, not of the body',
  ownCode: 'Check the token before anything of the route runs, and return there',
};
export const control: Own = {
  ...{ id: 'control', rule: 'RFC 6750 §2.1', level: 'must', needs: 'token' },
  ...{ sent: 'a good token, twice', expected: 'success, the same each time' },
  remedy: 'Let the API trust the issuer, and give it a token that it accepts',
};
export const controlEnd: Own = { ...control, id: 'control-end', sent: 'a good token, at the end' };
export const noResponse: Own = {
  ...{ id: 'no-response', rule: 'CWE-248; CWE-730', level: 'should', needs: 'nothing' },
  ...{ sent: 'each request whose connection was closed, once more, and then a good token', expected: 'a response' },
  remedy: 'Read the log of the server at this time: a worker may have ended by an exception or a segmentation fault',
  ownCode: 'Catch what decoding and verification throw, and reject the request',
};
/** Rows that are part of each run. */
export const ownRows: readonly Own[] = [noToken, control, noResponse, controlEnd];
