import { t } from 'elysia';

const errorObject = <const Codes extends [string, ...string[]]>(...values: Codes) =>
  // Without `default`, the type would have the first code as its default.
  t.Object({ code: t.UnionEnum(values, { default: undefined }), description: t.String() }, { title: 'Error' });

/** The rejections of a route that requires a token, for its `response`. */
export const guardResponses = {
  401: errorObject('authorization_header_missing', 'invalid_header', 'invalid_claims', 'token_expired'),
  503: errorObject('key_set_unavailable'),
};

/** The rejection of a token without the scope that a route requires. */
export const scopeResponses = { 403: errorObject('Unauthorized') };
