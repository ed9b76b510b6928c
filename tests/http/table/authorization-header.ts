import { describe, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { type RawAnswer, rawGet } from '../../support/raw-http.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

/** Header lines, sent byte for byte, a character a byte, with a valid token for `TOKEN`. */
const accepted = [
  ...['Bearer TOKEN', 'bearer TOKEN', 'BEARER TOKEN', 'bEaReR TOKEN', 'Bearer    TOKEN', 'Bearer\tTOKEN'],
  ...['Bearer \tTOKEN', 'Bearer \t \t TOKEN', ' \t Bearer TOKEN\t '],
]
  .map((value) => `Authorization: ${value}`)
  .concat('Authorization:Bearer TOKEN', 'authorization: Bearer TOKEN', 'AUTHORIZATION: Bearer TOKEN');

const missing = [
  ...['', 'Authorization:', 'Authorization:    ', 'Authorization:\t\t', 'Proxy-Authorization: Bearer TOKEN'],
  ...['Cookie: access_token=TOKEN; Authorization=Bearer TOKEN', 'X-Access-Token: TOKEN', 'Token: TOKEN'],
];

const otherScheme = [
  ...['Basic dXNlcjpwYXNzd29yZA==', 'Basic', 'Digest username="a", realm="b", nonce="c"', 'DPoP TOKEN', 'Token TOKEN'],
  ...['TOKEN', 'BearerToken TOKEN', 'XBearer TOKEN', 'Bearer: TOKEN', 'Bearer=TOKEN', 'Bearer, TOKEN'],
  // A no-break space, a letter beyond ASCII, and a Cyrillic one in UTF-8.
  ...['"Bearer" TOKEN', 'BearerTOKEN', 'Bearer\u00a0TOKEN', 'B\u00e9arer TOKEN', '\u00d0\u0092earer TOKEN'],
].map((value) => `Authorization: ${value}`);

const malformed = [
  ...['Bearer', 'bearer', 'Bearer \t ', 'Bearer TOKEN x', 'Bearer TOKEN\tx', 'Bearer\tTOKEN\tx', 'Bearer TOKEN TOKEN'],
  ...['Bearer Bearer TOKEN', ...['Bearer TOKEN', 'Basic dTpw'].map((more) => `Bearer TOKEN\r\nAuthorization: ${more}`)],
].map((value) => `Authorization: ${value}`);

const refused = [
  ['authorization_header_missing', 'bare', missing],
  ['invalid_header', 'bare', otherScheme],
  ['invalid_header', 'invalid_request', malformed],
] as const;

export function answered({ status, response }: RawAnswer): Response {
  if (response === undefined) throw new Error(`The connection was closed without an answer (status ${status})`);
  return response;
}

/** Rows on the Authorization header before its token is judged, sent over raw connections. */
export function authorizationHeaderRows(fixture: () => Fixture): void {
  const send = (headers: string, path = PRIVATE) =>
    rawGet(fixture().service.origin, path, headers ? [headers.replaceAll('TOKEN', fixture().mint())] : []);

  describe('a request', () => {
    for (const headers of accepted)
      test(`is accepted with ${JSON.stringify(headers)}`, async () => {
        for (const path of [PRIVATE, SCOPED]) await expectMessage(answered(await send(headers, path)));
      });

    for (const [code, challenge, rows] of refused)
      for (const headers of rows)
        test(`is rejected with ${JSON.stringify(headers)}: ${code}, challenge ${challenge}`, async () => {
          for (const path of [PRIVATE, SCOPED])
            await expectError(answered(await send(headers, path)), 401, code, challenge);
        });

    test('is rejected with a token in the query or in a body', async () => {
      const token = fixture().mint();
      const query = `?access_token=${token}&token=${token}&authorization=${token}`;
      await expectError(await fixture().service.fetch(PRIVATE + query), 401, 'authorization_header_missing');
      const body = `access_token=${token}`;
      const lines = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`, '', body];
      const answer = await rawGet(fixture().service.origin, PRIVATE, lines);
      await expectError(answered(answer), 401, 'authorization_header_missing');
    });

    test('to the public path is accepted with any of them', async () => {
      for (const headers of [accepted, missing, otherScheme, malformed].flat())
        await expectMessage(answered(await send(headers, '/api/public')));
    });
  });
}
