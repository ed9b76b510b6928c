import type { KeySetEvent, RejectionReason, ReplayStoreEvent } from 'protected-api';
import type { StoreEvent, StoreFailure } from '../redis/store-failure.ts';
import type { Log } from './log.ts';

/** Keys that are not used as their issuer may intend. */
const keyWarnings = {
  ambiguous:
    "Keys without alg match several ALGORITHMS and are used only for the first: list the issuer's algorithm first",
  unsupported: 'Keys are skipped, because this runtime does not support their algorithm',
  unusable: 'Keys are skipped, because they are malformed or weak',
};

/**
 * Returns a function that logs when an issuer outage begins, each further cause of it, and when it ends. The other
 * attempts are logged at the level debug.
 */
export function createKeySetLog(log: Log): (event: KeySetEvent) => void {
  /** By issuer, what was logged of its outage. */
  const outages = new Map<string, Set<string>>();
  return (event) => {
    const { issuer } = event;
    if (event.type === 'expired') log.error({ issuer }, 'Key set expired');
    else if (event.type === 'failed') {
      const { failures, failure, cause, status } = event;
      const fault = [failure, cause, status].join();
      const logged = (failures > 1 && outages.get(issuer)) || new Set();
      log[logged.has(fault) ? 'debug' : 'warn']({ ...event, type: undefined }, 'Cannot fetch the key set');
      outages.set(issuer, logged.add(fault));
    } else if (event.type === 'fetched') {
      const { added, removed, afterFailures } = event;
      if (afterFailures > 0) log.info({ issuer, afterFailures }, 'Key set can be fetched again');
      log[added.length + removed.length > 0 ? 'info' : 'debug']({ issuer, added, removed }, 'Key set fetched');
    } else log.warn({ issuer, keys: event.keys, reasons: event.reasons }, keyWarnings[event.type]);
  };
}

/** Returns a function that logs a hint the first time that a reason points to a mistake of the client or the issuer. */
export function createRejectionHints(log: Log): (reason: RejectionReason) => void {
  const hints: Partial<Record<RejectionReason, string>> = {
    token_opaque:
      'A client sent an opaque access token. Request the token with an audience (or resource, RFC 8707), so that it is a JWT',
    token_encrypted:
      'A client sent an encrypted access token. Configure the issuer to sign access tokens without encrypting them',
  };
  return (reason) => {
    const hint = hints[reason];
    if (hint === undefined) return;
    log.warn({ outcome: reason }, hint);
    delete hints[reason];
  };
}

const unusable = 'Cannot use the replay store: requests with DPoP get a 503';

/** Rejections by a connected store, which are not outages. */
const storeRejections: Partial<Readonly<Record<StoreFailure, string>>> = {
  overloaded: 'The replay store is too slow: some requests with DPoP get a 503',
  forgotten: 'Proofs older than the data of the replay store get a 503',
};

/**
 * Logs when a replay store cannot be used, and when it can be again: an outage, proofs that it rejects while it is
 * connected, until it has rejected none for as long as one is valid, and failures of the store in memory.
 */
export function logStoreEvent(log: Log, event: StoreEvent | ReplayStoreEvent): void {
  if (event.type === 'recovered') log.info({ afterFailures: event.failures }, 'The replay store can be used again');
  else if (event.type === 'connected') {
    const { afterFailures, evicts } = event;
    log.info({ afterFailures }, 'Connected to the replay store');
    if (evicts) log.warn('The replay store deletes keys when its memory is full: set maxmemory-policy to noeviction');
  } else if ('failure' in event) {
    const { failure, failures, cause } = event;
    const message = storeRejections[failure] ?? unusable;
    log[failures === 1 || cause ? 'warn' : 'debug']({ failure, failures, cause }, message);
  } else log.warn({ cause: event.cause }, unusable);
}
