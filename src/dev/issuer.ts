import { createDevelopmentIssuer, type IssuerSecrets } from 'protected-api/testing';

/**
 * Returns the development issuer of the service.
 * @param origin the URL at which clients reach the service, without a trailing slash; the API identifier, too
 * @param scopes returns the scopes of the routes, which the reader can be granted; the visitor can be granted none
 * @param secrets those of an earlier issuer; by default, new ones
 */
export function createServiceIssuer(origin: string, scopes: () => readonly string[], secrets?: IssuerSecrets) {
  return createDevelopmentIssuer({
    issuer: `${origin}/`,
    audience: origin,
    clients: () => [{ id: 'reader', scope: scopes() }, { id: 'visitor' }],
    allowedHosts: [new URL(origin).host],
    secrets,
  });
}

/** What a reload by `bun run dev` keeps. */
interface Kept {
  /** So that tokens and credentials of the development issuer stay valid. */
  secrets?: IssuerSecrets;
  /** Stops what the modules before the reload have started, apart from listeners, which Bun reuses. */
  stop?: () => void;
}

const keptKey = Symbol.for('protected-api.kept');
const holder = globalThis as { [keptKey]?: Kept };
holder[keptKey] ??= {};

/** `bun --hot` evaluates all modules again in the same process, in which only `globalThis` stays. */
export const keptOverReloads = holder[keptKey];
