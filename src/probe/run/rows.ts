import { mcpRows } from '../mcp/mcp.ts';
import { mcpMetadataRows } from '../mcp/mcp-metadata.ts';
import { mcpTokenRows } from '../mcp/mcp-tokens.ts';
import { anonymousRows } from '../requests/anonymous.ts';
import { cacheRows } from '../requests/caches.ts';
import { challengeRows } from '../requests/challenges.ts';
import { credentials } from '../requests/credentials.ts';
import { dpopRows } from '../requests/dpop.ts';
import { errorRows } from '../requests/errors.ts';
import { fetchRows } from '../requests/keys.ts';
import { metadataRows } from '../requests/metadata.ts';
import { responses } from '../requests/responses.ts';
import { rotationRows } from '../requests/rotation.ts';
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
