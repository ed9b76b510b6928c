import { requirementReasons } from '../../guard/requirements.ts';
import { claimReader } from '../../token/claims.ts';
import { isJsonObject, type Members } from '../../values/json.ts';
import { type Check, check, type Explained, expectedBy, joined, pairsOf, show, showTime } from './explained.ts';
import { describeProof } from './proof-checks.ts';

/** Whether the token is bound to a certificate, or to a key, by this method. */
export const isBoundBy = (method: 'jkt' | 'x5t#S256', { cnf }: Members): boolean => isJsonObject(cnf) && method in cnf;

/** Returns the checks of the proof or certificate that a bound token needs. */
export function describeBinding(explained: Explained): readonly Check[] {
  const { claims, options, nameOf, proof } = explained;
  const { dpop, dpopAlgorithms, clientCertificate } = options;
  const header = nameOf('clientCertificate');
  const isByCertificate = isBoundBy('x5t#S256', claims);
  const certificates = isByCertificate ? `, ${header} is ${clientCertificate ? 'set' : 'not set'}` : '';
  const reader = header === 'clientCertificate' ? 'a function that returns' : 'the header in which a proxy sends';
  const readCertificate = `set ${header} to ${reader} the client's certificate`;
  const enable = `set ${nameOf('dpop')} to on`;
  const acceptBound =
    isByCertificate && !isBoundBy('jkt', claims) ? readCertificate : `${enable} for clients that send proofs`;
  const has = claims.cnf === undefined && dpop !== 'required' ? undefined : show(claims.cnf);
  const present = "a request also needs the client's certificate, which cannot be checked here";
  const prove = `a request also needs a proof in the header DPoP, signed with one of ${nameOf('dpopAlgorithms')} (${joined(dpopAlgorithms)}), of which you can paste the line too`;
  const binding = check('binding', has, `${nameOf('dpop')} is ${dpop}${certificates}`, {
    token_bound: `${acceptBound}, or request a token that is not bound`,
    token_certificate_bound: readCertificate,
    token_confirmation_unsupported:
      'request a token that is bound to a key (jkt), to a certificate (x5t#S256) or not at all',
    certificate_missing: present,
    certificate_unreadable: present,
    token_unbound: `the token is not bound to a key: the client must request it with a proof. To accept tokens without a proof as well, ${enable}`,
    // A token that is not a JWT is sent as Bearer, because only the response of introspect says that it is bound.
    ...(!proof && { proof_missing: prove, token_key_bound: prove }),
  });
  return [binding, ...(proof ? describeProof(explained, proof) : [])];
}

/** Returns the checks of what the application requires besides a valid token, in the order of the guard. */
export function describeRequirements(explained: Explained): readonly Check[] {
  const { claims, options, requirements, nowSeconds, nameOf } = explained;
  const needsLogin = requirements.acr !== undefined || requirements.maxAge !== undefined;
  const login = `acr ${show(claims.acr)}, auth_time ${showTime(claims.auth_time, nowSeconds)}`;
  const logIn = 'the client must send the user to the issuer to log in again';
  const names = options.claims && joined(Object.keys(claims));
  const described = {
    authentication_insufficient: check(
      'step-up',
      needsLogin ? login : undefined,
      expectedBy(explained),
      { authentication_insufficient: logIn },
      'sufficient',
    ),
    scope_insufficient: describeScope(explained),
  };
  return [
    check('schema', names, `the claims do not match the schema in ${nameOf('claims')}`, { claims_unexpected: '' }),
    ...requirementReasons.map((reason) => described[reason]),
  ];
}

function describeScope({ claims, options, requirements: { scope }, nameOf }: Explained): Check {
  const { scopeClaim, scopePrefix = '', scopeRequestPrefix = scopePrefix, scopeImplies } = options;
  const isAny = typeof scope === 'object' && 'anyOf' in scope;
  const required = isAny ? scope.anyOf : [scope ?? []].flat();
  const names = required.map((name) => scopePrefix + name);
  const join = (scopes: readonly string[]) => scopes.join(isAny ? ' or ' : ' and ');
  const wanted = join(names);
  // A JSON Pointer starts with the name of a claim.
  const sources = new Set(scopeClaim.map((name) => (name.startsWith('/') ? (name.split('/')[1] ?? '') : name)));
  const implied = pairsOf(scopeImplies);
  const settings = [
    wanted === '' ? `${nameOf('requireScope')} is true` : `${wanted} is required`,
    `${nameOf('scopeClaim')} is ${joined(scopeClaim)}`,
    ...(scopePrefix === '' ? [] : [`${nameOf('scopePrefix')} is ${scopePrefix}`]),
    ...(implied === '' ? [] : [`${nameOf('scopeImplies')} is ${implied}`]),
  ];
  const granting = findClaim(claims, (has) => names.some(has) && (isAny || names.every(has)));
  // Without any claim that is read, another has the scopes of this issuer, and its clients get more of them.
  const isUnread = [...sources].every((name) => claims[name] === undefined);
  const claim = granting ?? (isUnread ? ['scp', 'permissions', 'roles'].find((name) => name in claims) : undefined);
  const isChecked = wanted !== '' || options.requireScope;
  const has = isChecked ? joined([...sources].map((name) => `${name} ${show(claims[name])}`)) : undefined;
  const requested = join(required.map((name) => scopeRequestPrefix + name)) || 'of this API';
  // A claim that was chosen is not replaced because a user lacks the role.
  const chosen = scopeClaim.find((name) => name !== 'scope' && claimReader(name)(claims) !== undefined);
  const advice =
    claim === undefined
      ? `the client must request ${wanted === '' ? 'a' : 'the'} scope ${requested}, and the issuer must grant it`
      : chosen !== undefined
        ? `the issuer must grant ${wanted} in ${chosen}. It is in ${claim}: only if that claim decides, set ${nameOf('scopeClaim')} to it`
        : {
            text: `set ${nameOf('scopeClaim')} to ${claim}, the claim that has the scope${granting ? '' : 's of this token'}`,
            change: { scopeClaim: [claim] },
          };
  const passed = wanted === '' ? 'sufficient' : `sufficient for ${wanted}`;
  return check('scope', has, joined(settings), { scope_insufficient: advice }, passed);
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
