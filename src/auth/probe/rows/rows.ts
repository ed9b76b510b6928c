import type { Row } from '../row.ts';
import { claimRows } from './claims.ts';
import { credentials } from './credentials.ts';
import { dpopRows } from './dpop.ts';
import { encodings } from './encodings.ts';
import { forgeries } from './forgeries.ts';
import { keyRows, lastRows } from './keys.ts';
import { metadataRows } from './metadata.ts';
import { responses } from './responses.ts';

/** Every row, in the order in which they are tried: first those for which keys are fetched, last those after which none are. */
export const rows: readonly Row[] = [...keyRows, ...credentials, ...responses, ...metadataRows, ...forgeries, ...encodings, ...claimRows, ...dpopRows, ...lastRows];
