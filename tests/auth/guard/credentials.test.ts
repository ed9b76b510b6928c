import { describe, expect, test } from 'bun:test';
import { createChecker, tokenOf } from '../../support/checked.ts';

const check = createChecker();
const token = tokenOf();

/** Values of the header with `TOKEN` for a valid token, by what is special about them. */
const accepted = {
  'the scheme in any case': 'bEaReR TOKEN',
  'spaces between its parts': 'Bearer    TOKEN',
  'a tab between its parts': 'Bearer\tTOKEN',
};
const otherScheme = {
  'another scheme alone': 'Basic',
  'parameters of Digest': 'Digest username="a", realm="b", nonce="c"',
  'the scheme DPoP': 'DPoP TOKEN',
  'a token and no scheme': 'TOKEN',
  'a scheme that begins with Bearer': 'BearerToken TOKEN',
  'a scheme that ends with Bearer': 'XBearer TOKEN',
  'a colon behind the scheme': 'Bearer: TOKEN',
  'an equals sign behind the scheme': 'Bearer=TOKEN',
  'a comma behind the scheme': 'Bearer, TOKEN',
  'quotes around the scheme': '"Bearer" TOKEN',
  'nothing between its parts': 'BearerTOKEN',
  'a letter beyond ASCII in the scheme': 'B\u00e9arer TOKEN',
};
const malformed = {
  'a word behind the token': 'Bearer TOKEN x',
  'tabs and a word behind the token': 'Bearer\tTOKEN\tx',
  'the token twice': 'Bearer TOKEN TOKEN',
  'the scheme twice': 'Bearer Bearer TOKEN',
};

describe('an Authorization header', () => {
  for (const [reason, challenge, values] of [
    [undefined, undefined, accepted],
    ['scheme_unsupported', /^Bearer$/, otherScheme],
    ['credentials_malformed', /^Bearer error="invalid_request", /, malformed],
  ] as const)
    test.each(Object.entries(values))(`with %s: ${reason ?? 'accepted'}`, async (_name, value) => {
      const checked = await check(new Headers({ authorization: value.replaceAll('TOKEN', token) }));
      expect(checked.reason).toBe(reason);
      expect(checked.challenge ?? '').toMatch(challenge ?? /^$/);
    });
});
