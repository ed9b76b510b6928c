import { isJsonObject } from '../jose/encoding.ts';
import type { Check, Explained } from './checks.ts';
import { list, plural, show, showTime } from './words.ts';

/** Returns the checks of what the application requires besides a valid token. */
export function describeRequirements(explained: Explained): readonly Check[] {
  const { claims, options, requirements, nowSeconds, nameOf } = explained;
  const { acr, maxAge } = requirements;
  const stepUp = [
    ...(acr === undefined ? [] : [[`acr ${show(claims.acr)}`, `acr must be ${[acr].flat().join(' or ')}`]]),
    ...(maxAge === undefined
      ? []
      : [[`auth_time ${showTime(claims.auth_time, nowSeconds)}`, `maxAge is ${plural(maxAge, 'second')}`]]),
  ];
  return [
    {
      name: 'schema',
      has: options.claims && list(Object.keys(claims)),
      wants: `they do not match ${nameOf('claims')}`,
      advice: { claims_unexpected: '' },
    },
    {
      name: 'step-up',
      has: list(stepUp.map(([has]) => show(has))) || undefined,
      wants: list(stepUp.map(([, wants]) => show(wants))),
      passed: 'sufficient',
      advice: { authentication_insufficient: 'the client must send the user to the issuer to log in again' },
    },
    describeScope(explained),
  ];
}

function describeScope({ claims, options, requirements: { scope }, nameOf }: Explained): Check {
  const { scopeClaim, scopePrefix = '', scopeImplies } = options;
  const isAny = typeof scope === 'object' && 'anyOf' in scope;
  const names = (isAny ? scope.anyOf : [scope ?? []].flat()).map((name) => scopePrefix + name);
  const wanted = names.join(isAny ? ' or ' : ' and ');
  // A JSON Pointer begins in a claim of the token.
  const sources = new Set(scopeClaim.map((name) => (name.startsWith('/') ? (name.split('/')[1] ?? '') : name)));
  const implied = Object.entries(scopeImplies).flatMap(([broad, narrow]) => narrow.map((one) => `${broad}=${one}`));
  const settings = [
    `${nameOf('scopeClaim')} is ${list(scopeClaim)}`,
    ...(scopePrefix === '' ? [] : [`${nameOf('scopePrefix')} is ${scopePrefix}`]),
    ...(implied.length === 0 ? [] : [`${nameOf('scopeImplies')} is ${list(implied)}`]),
  ];
  const claim = findClaim(claims, (has) => (isAny ? names.some(has) : names.every(has)));
  return {
    name: 'scope',
    has: wanted === '' ? undefined : list([...sources].map((name) => `${name} ${show(claims[name])}`)),
    wants: `${wanted} is required, ${list(settings)}`,
    passed: `sufficient for ${wanted}`,
    advice: {
      scope_insufficient:
        claim === undefined
          ? `the client must request the scope ${wanted}, and the issuer must grant it`
          : `set ${nameOf('scopeClaim')} to ${claim}, the claim that has the scope`,
    },
  };
}

type IsGranted = (has: (scope: string) => boolean) => boolean;

/** Returns the claim that has scopes: its name, or a JSON Pointer such as `/realm_access/roles`. */
function findClaim(value: unknown, isGranted: IsGranted, path: readonly string[] = []): string | undefined {
  const scopes: readonly unknown[] = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  if (isGranted((scope) => scopes.includes(scope))) {
    const [name = ''] = path;
    if (path.length === 1 && !name.startsWith('/')) return name;
    return path.map((member) => `/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  }
  for (const [name, member] of isJsonObject(value) ? Object.entries(value) : []) {
    const found = findClaim(member, isGranted, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
