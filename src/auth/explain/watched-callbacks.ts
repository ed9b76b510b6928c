import { checkFound } from '../guard/found-issuer.ts';
import { listedIssuers } from '../options/issuers.ts';
import { responseOf } from '../token/introspection.ts';
import type { CheckedIssuer, CheckedOptions, FindIssuer, IssuerOptions } from '../types.ts';
import { describeValue } from '../values/describe-value.ts';
import { isJsonObject, type Members, namesIn } from '../values/json.ts';
import { promised } from '../values/promises.ts';
import { joined } from './checks/explained.ts';

/*
 * The functions of the application: which of them a guard that explains calls, and what they returned.
 * All others are left out, because explaining a token must not count as a request.
 */

/** Returns a function that observes the options `introspect`, and how to read what the last one responded. */
export function watchIntrospection() {
  let responded: Members | undefined;
  const observed = (introspect: CheckedOptions['introspect']): CheckedOptions['introspect'] =>
    introspect &&
    (async (opaque, limited) => {
      const response = await responseOf(() => introspect(opaque, limited));
      responded = isJsonObject(response) ? response : {};
      // Anything but an object is an outage, whatever its type.
      return response as object;
    });
  const observe = (options: CheckedOptions): CheckedOptions => ({
    ...options,
    issuer: withOwn(options.issuer, (own) => ({
      ...own,
      introspect: observed(own.introspect),
    })) as CheckedOptions['issuer'],
    introspect: observed(options.introspect),
  });
  return { observe, read: () => responded };
}

/** Returns the option `issuer` as the guard gets it, and how to read what a function among it has returned. */
export function watchLookup(options: CheckedOptions) {
  const { issuer: ask } = options;
  if (typeof ask !== 'function') return { issuer: ask, read: () => ({ issuer: ask, said: undefined }) };
  let said = 'was not called, because iss does not have the form of an issuer';
  let returned: unknown;
  const issuer: FindIssuer = async (iss, limited) => {
    said = 'failed, or took too long';
    const found = (await promised(ask(iss, limited))) as Awaited<ReturnType<FindIssuer>>;
    returned = found;
    const value = isJsonObject(found) ? `an object with ${joined(namesIn(found))}` : describeValue(found);
    said = `returned ${value}`;
    return found;
  };
  const read = () => {
    if (!isJsonObject(returned)) return { issuer: [], said };
    try {
      return {
        issuer: listedIssuers(checkFound(options, returned)),
        said,
      };
    } catch (error) {
      return { issuer: [], said: `${said}. ${(error as TypeError).message}` };
    }
  };
  return { issuer, read };
}

/** Returns the option `issuer` with other options of the issuers that have some of their own. */
const withOwn = (issuer: CheckedOptions['issuer'], change: (own: CheckedIssuer) => IssuerOptions) =>
  typeof issuer === 'function' ? issuer : issuer.map((each) => (typeof each === 'object' ? change(each) : each));

/** Returns what replaces the functions that are not called. */
export const withoutCallbacks = ({ clientCertificate }: CheckedOptions) => ({
  isRevoked: undefined,
  onAccepted: undefined,
  onReplayStoreEvent: () => {},
  errorHeaders: undefined,
  // That of the process is not for proofs that are only explained.
  replayStore: { markUsed: () => true },
  clientCertificate: clientCertificate && (() => undefined),
});
