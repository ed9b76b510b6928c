import { FetchError } from '../keys/fetch/fault.ts';
import type { createIssuerKeys } from '../keys/issuer-keys.ts';
import { checkOptions, haveEqualOptions } from '../options/check-options.ts';
import { optionsByIssuer } from '../options/issuers.ts';
import type { ListedTrusts, Trust } from '../token/trust.ts';
import type { CheckedOptions, Fetch, IssuerOptions } from '../types.ts';
import { isJsonObject } from '../values/json.ts';
import { printableUrl } from '../values/url.ts';
import { isPrivateHost } from './private-host.ts';

/*
 * What a function `issuer` of the application may return. Customers may have chosen it, so it must not lead into the
 * network of the application, unless the application allows that.
 */

/** An issuer whose options are checked. */
export interface FoundIssuer {
  readonly options: CheckedOptions;
  readonly trust: Trust;
  readonly keys: ReturnType<typeof createIssuerKeys>;
}

/** Returns the keys and trusts of the issuers that are listed in these options. */
export type List = (options: CheckedOptions) => Pick<FoundIssuer, 'keys'> & { readonly trusts: ListedTrusts };

const isPrivateUrl = (url: string) => isPrivateHost(new URL(url).hostname);

/**
 * Returns a function that checks what the application returned for `iss`. It returns `earlier` if that says the same,
 * and throws a TypeError whose message says what is not valid.
 */
export function createAnswerReader(options: CheckedOptions, list: List) {
  // The metadata of an issuer name the URL of its keys.
  const fetchPublic: Fetch = (url, init) => {
    if (isPrivateUrl(url)) throw new FetchError('insecure_address', { found: printableUrl(url) });
    return (options.fetch ?? globalThis.fetch)(url, init);
  };

  return (iss: string, returned: unknown, earlier: FoundIssuer | undefined): FoundIssuer => {
    if (!isJsonObject(returned)) throw new TypeError('It must be an object, or undefined for an unknown issuer');
    const { jwksAllowPrivate = false, introspect } = returned;
    if (typeof jwksAllowPrivate !== 'boolean') throw new TypeError('jwksAllowPrivate must be true or false');
    // A token that is not a JWT names no issuer, so this function would never be called.
    if (introspect !== undefined) throw new TypeError('introspect must be an option of the guard');
    // A property that is not enumerable hides an inherited one of this name from the check for unknown members.
    const own: object = 'jwksAllowPrivate' in returned ? Object.create(returned, { jwksAllowPrivate: {} }) : returned;
    const fetch = jwksAllowPrivate ? options.fetch : fetchPublic;
    const checked = checkOptions({ ...options, fetch, issuer: [own as IssuerOptions] });
    if (earlier && haveEqualOptions(earlier.options, checked)) return earlier;
    const [[issuer, { keys: given, jwksUri = issuer }] = ['', checked]] = optionsByIssuer(checked);
    if (issuer !== iss) throw new TypeError('Its issuer must be the iss that was asked about');
    if (!jwksAllowPrivate && !given && isPrivateUrl(jwksUri))
      throw new TypeError('Its keys are at a private address, which needs jwksAllowPrivate: true');
    const { keys, trusts } = list(checked);
    if (!trusts.sole) throw new TypeError('It must be a single issuer');
    return { options: checked, keys, trust: trusts.sole };
  };
}
