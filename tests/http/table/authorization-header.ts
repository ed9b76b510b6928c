import { describe, expect, test } from 'bun:test';
import { type Challenge, expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { type RawAnswer, rawGet } from '../../support/raw-http.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

/** Header lines by what they do with a good token. They are sent byte for byte, a character a byte. */
interface HeaderRow {
  readonly name: string;
  readonly lines: (token: string) => readonly string[];
}

interface RefusedRow extends HeaderRow {
  readonly code: 'authorization_header_missing' | 'invalid_header';
  readonly challenge: Challenge;
}

const authorization = (value: string) => [`Authorization: ${value}`];

const accepted: readonly HeaderRow[] = [
  { name: 'Bearer and a token', lines: (token) => authorization(`Bearer ${token}`) },
  { name: 'the scheme in lower case', lines: (token) => authorization(`bearer ${token}`) },
  { name: 'the scheme in upper case', lines: (token) => authorization(`BEARER ${token}`) },
  { name: 'the scheme in mixed case', lines: (token) => authorization(`bEaReR ${token}`) },
  { name: 'several spaces between the parts', lines: (token) => authorization(`Bearer    ${token}`) },
  { name: 'a tab between the parts', lines: (token) => authorization(`Bearer\t${token}`) },
  { name: 'a space and a tab between the parts', lines: (token) => authorization(`Bearer \t${token}`) },
  { name: 'spaces and tabs between the parts', lines: (token) => authorization(`Bearer \t \t ${token}`) },
  { name: 'spaces and tabs around it all', lines: (token) => authorization(` \t Bearer ${token}\t `) },
  { name: 'no space after the colon', lines: (token) => [`Authorization:Bearer ${token}`] },
  { name: 'a header name in lower case', lines: (token) => [`authorization: Bearer ${token}`] },
  { name: 'a header name in upper case', lines: (token) => [`AUTHORIZATION: Bearer ${token}`] },
];

const missing: readonly HeaderRow[] = [
  { name: 'no header', lines: () => [] },
  { name: 'an empty value', lines: () => ['Authorization:'] },
  { name: 'a value of spaces', lines: () => ['Authorization:    '] },
  { name: 'a value of tabs', lines: () => ['Authorization:\t\t'] },
  { name: 'a token in a cookie', lines: (token) => [`Cookie: access_token=${token}; Authorization=Bearer ${token}`] },
  { name: 'a token for a proxy', lines: (token) => [`Proxy-Authorization: Bearer ${token}`] },
  { name: 'a token in headers of other names', lines: (token) => [`X-Access-Token: ${token}`, `Token: ${token}`] },
];

const otherScheme: readonly HeaderRow[] = [
  { name: 'Basic with credentials', lines: () => authorization('Basic dXNlcjpwYXNzd29yZA==') },
  { name: 'Basic alone', lines: () => authorization('Basic') },
  { name: 'Digest with its many parts', lines: () => authorization('Digest username="a", realm="b", nonce="c"') },
  { name: 'DPoP with a token', lines: (token) => authorization(`DPoP ${token}`) },
  { name: 'Token with a token', lines: (token) => authorization(`Token ${token}`) },
  { name: 'a token alone', lines: (token) => authorization(token) },
  { name: 'a scheme that begins with Bearer', lines: (token) => authorization(`BearerToken ${token}`) },
  { name: 'a scheme that ends with Bearer', lines: (token) => authorization(`XBearer ${token}`) },
  { name: 'Bearer with a colon', lines: (token) => authorization(`Bearer: ${token}`) },
  { name: 'Bearer with an equals sign', lines: (token) => authorization(`Bearer=${token}`) },
  { name: 'Bearer with a comma', lines: (token) => authorization(`Bearer, ${token}`) },
  { name: 'Bearer in quotes', lines: (token) => authorization(`"Bearer" ${token}`) },
  { name: 'Bearer and token without a space', lines: (token) => authorization(`Bearer${token}`) },
  { name: 'a no-break space between the parts', lines: (token) => authorization(`Bearer\u00a0${token}`) },
  { name: 'a scheme beyond ASCII', lines: (token) => authorization(`B\u00e9arer ${token}`) },
  {
    name: 'a scheme in Cyrillic letters, as UTF-8',
    lines: (token) => authorization(`\u00d0\u2019earer ${token}`.replace('\u2019', '\u0092')),
  },
];

const malformed: readonly HeaderRow[] = [
  { name: 'Bearer alone', lines: () => authorization('Bearer') },
  { name: 'bearer alone, in lower case', lines: () => authorization('bearer') },
  { name: 'Bearer and blanks', lines: () => authorization('Bearer \t ') },
  { name: 'three parts', lines: (token) => authorization(`Bearer ${token} x`) },
  { name: 'three parts with a tab before the last', lines: (token) => authorization(`Bearer ${token}\tx`) },
  { name: 'three parts with tabs', lines: (token) => authorization(`Bearer\t${token}\tx`) },
  { name: 'the token twice', lines: (token) => authorization(`Bearer ${token} ${token}`) },
  { name: 'Bearer twice', lines: (token) => authorization(`Bearer Bearer ${token}`) },
  {
    name: 'two headers with the same token',
    lines: (token) => [...authorization(`Bearer ${token}`), ...authorization(`Bearer ${token}`)],
  },
  {
    name: 'two headers, the second another scheme',
    lines: (token) => [...authorization(`Bearer ${token}`), ...authorization('Basic dTpw')],
  },
];

const withCode =
  (code: RefusedRow['code'], challenge: Challenge) =>
  (row: HeaderRow): RefusedRow => ({ ...row, code, challenge });

const refused: readonly RefusedRow[] = [
  ...missing.map(withCode('authorization_header_missing', 'bare')),
  ...otherScheme.map(withCode('invalid_header', 'bare')),
  ...malformed.map(withCode('invalid_header', 'invalid_request')),
];

/** Rows that the HTTP parser may answer. No token may be accepted, and the service must keep serving. */
const hostile: readonly HeaderRow[] = [
  { name: 'a vertical tab between the parts', lines: (token) => authorization(`Bearer\v${token}`) },
  { name: 'a form feed between the parts', lines: (token) => authorization(`Bearer\f${token}`) },
  { name: 'a null byte in the token', lines: (token) => authorization(`Bearer ${token}\0`) },
  {
    name: 'a control character in the token',
    lines: (token) => authorization(`Bearer ${token.slice(0, 9)}\x01${token.slice(9)}`),
  },
  { name: 'a bare carriage return in the token', lines: (token) => authorization(`Bearer ${token}\rx`) },
  { name: 'a folded header', lines: (token) => ['Authorization: Bearer', ` ${token}`] },
  { name: 'a space before the colon', lines: (token) => [`Authorization : Bearer ${token}`] },
  { name: 'two headers, the first empty', lines: (token) => ['Authorization:', ...authorization(`Bearer ${token}`)] },
  { name: 'two headers, the second empty', lines: (token) => [...authorization(`Bearer ${token}`), 'Authorization:'] },
  {
    name: 'two headers, the first another scheme',
    lines: (token) => [...authorization('Basic dTpw'), ...authorization(`Bearer ${token}`)],
  },
  { name: 'bytes that are no UTF-8', lines: () => authorization('Bearer \u00ff\u00fe\u0080.\u00ff.\u00ff') },
  {
    name: 'every byte above ASCII',
    lines: () => authorization(`Bearer ${String.fromCharCode(...Array.from({ length: 128 }, (_, at) => 128 + at))}`),
  },
];

function answered({ status, response }: RawAnswer): Response {
  if (response === undefined) throw new Error(`The connection was closed without an answer (status ${status})`);
  return response;
}

/** Rows on the Authorization header before its token is looked at, sent over raw connections. */
export function authorizationHeaderRows(fixture: () => Fixture): void {
  const send = ({ lines }: HeaderRow, path = PRIVATE) =>
    rawGet(fixture().service.origin, path, lines(fixture().mint()));

  describe('an Authorization header', () => {
    for (const row of accepted) {
      test(`is accepted with ${row.name}`, async () => {
        await expectMessage(answered(await send(row)));
        await expectMessage(answered(await send(row, SCOPED)));
      });
    }

    for (const row of refused) {
      test(`is refused with ${row.name}: ${row.code}, challenge ${row.challenge}`, async () => {
        await expectError(answered(await send(row)), 401, row.code, row.challenge);
        await expectError(answered(await send(row, SCOPED)), 401, row.code, row.challenge);
      });
    }

    for (const row of hostile) {
      test(`rejects ${row.name}, and keeps serving`, async () => {
        const { status } = await send(row);
        expect([0, 400, 401]).toContain(status);
        await expectMessage(await fixture().get(PRIVATE, fixture().mint()));
      });
    }

    test('is not replaced by a token in the query', async () => {
      const token = fixture().mint();
      const response = await fixture().service.fetch(
        `${PRIVATE}?access_token=${token}&token=${token}&authorization=${token}`,
      );
      await expectError(response, 401, 'authorization_header_missing');
    });

    test('is not replaced by a token in a body', async () => {
      const body = `access_token=${fixture().mint()}`;
      const lines = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`, '', body];
      const answer = await rawGet(fixture().service.origin, PRIVATE, lines);
      await expectError(answered(answer), 401, 'authorization_header_missing');
    });

    test('is not looked at on the public path', async () => {
      for (const row of [...accepted, ...refused]) {
        await expectMessage(answered(await send(row, '/api/public')));
      }
    });
  });
}
