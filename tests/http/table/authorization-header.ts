import { describe, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { rawGet } from '../../support/raw-http.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

/** Lines of a header by what is special about them, sent byte for byte, a character a byte, with a valid token for `TOKEN`. */
type Lines = Readonly<Record<string, string>>;

const accepted: Lines = {
  'the scheme as the RFC writes it': 'Authorization: Bearer TOKEN',
  'tabs and spaces around its parts': 'Authorization:  \t Bearer \t \t TOKEN\t ',
  'no space before its value': 'Authorization:Bearer TOKEN',
  'its name in another case': 'AUTHORIZATION: Bearer TOKEN',
};
const missing: Lines = {
  'no value': 'Authorization:',
  'spaces and tabs for a value': 'Authorization:  \t ',
  'a token in other headers':
    'Proxy-Authorization: Bearer TOKEN\r\nX-Access-Token: TOKEN\r\nCookie: access_token=TOKEN',
};
const otherScheme: Lines = {
  'Basic credentials': 'Authorization: Basic dXNlcjpwYXNzd29yZA==',
  'a no-break space between its parts': 'Authorization: Bearer\u00a0TOKEN',
  'a Cyrillic letter in the scheme, in UTF-8': 'Authorization: \u00d0\u0092earer TOKEN',
};
const malformed: Lines = {
  'the scheme alone': 'Authorization: Bearer',
  'blanks behind the scheme': 'Authorization: Bearer \t ',
  'a second header with a token': 'Authorization: Bearer TOKEN\r\nAuthorization: Bearer TOKEN',
  'a second header of another scheme': 'Authorization: Bearer TOKEN\r\nAuthorization: Basic dTpw',
};
const refused = [
  ['authorization_header_missing', 'bare', missing],
  ['invalid_header', 'bare', otherScheme],
  ['invalid_header', 'invalid_request', malformed],
] as const;

/**
 * Rows on the Authorization header before its token is verified, sent over raw connections. Those that need none are in
 * tests/auth/guard/credentials.test.ts.
 */
export function authorizationHeaderRows(fixture: () => Fixture): void {
  const send = (path: string, ...lines: readonly string[]) => {
    const { service, mint } = fixture();
    const sent = lines.map((line) => line.replaceAll('TOKEN', mint()));
    return rawGet(service.origin, path, sent);
  };

  describe('a request', () => {
    for (const [name, line] of Object.entries(accepted))
      test(`is accepted with ${name}`, async () => {
        for (const path of [PRIVATE, SCOPED]) await expectMessage(await send(path, line));
      });

    for (const [code, challenge, rows] of refused)
      for (const [name, line] of Object.entries(rows))
        test(`is rejected with ${name}: ${code}, challenge ${challenge}`, async () => {
          for (const path of [PRIVATE, SCOPED]) await expectError(await send(path, line), 401, code, challenge);
        });

    test('is rejected without a header, with a token in the query or in a body', async () => {
      const token = fixture().mint();
      const query = `?access_token=${token}&token=${token}&authorization=${token}`;
      await expectError(await fixture().service.fetch(PRIVATE + query), 401, 'authorization_header_missing');
      const body = `access_token=${token}`;
      const lines = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`, '', body];
      await expectError(await send(PRIVATE, ...lines), 401, 'authorization_header_missing');
    });

    test('to the public path is accepted with any of them', async () => {
      for (const rows of [accepted, missing, otherScheme, malformed])
        for (const line of Object.values(rows)) await expectMessage(await send('/api/public', line));
    });
  });
}
