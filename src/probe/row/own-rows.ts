import type { Row } from './row.ts';

// Here are the rows of the course of a run: controls, and what is noticed of all requests.

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
