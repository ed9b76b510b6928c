import type * as Crypto from 'node:crypto';
import spareKeys from './spare-keys.json' with { type: 'json' };

type Make = (
  type: 'rsa',
  options: { readonly modulusLength: number; readonly publicExponent?: number },
) => { readonly privateKey: Crypto.KeyObject; readonly publicKey: Crypto.KeyObject };

/**
 * A new RSA key takes 80 ms of CPU time, and tests need hundreds. This has `generateKeyPairSync` return the keys of a
 * file, each once, and then new ones. Processes that tests start get others than the tests. No module may have imported
 * node:crypto before, because imported functions stay as they are.
 */
export function useSpareKeys(by: 'tests' | 'processes'): void {
  const crypto: Pick<typeof Crypto, 'createPrivateKey' | 'createPublicKey'> & {
    readonly generateKeyPairSync: Make & { readonly make?: Make };
  } = require('node:crypto');
  const known = crypto.generateKeyPairSync;
  const make = known.make ?? known;
  const left = by === 'tests' ? spareKeys.slice(0, 32) : spareKeys.slice(32);
  const take: Make = (type, options) => {
    const { modulusLength, publicExponent = 65537, ...others } = Object(options);
    const isUsual = type === 'rsa' && modulusLength === 2048 && publicExponent === 65537;
    const der = isUsual && Object.keys(others).length === 0 ? left.shift() : undefined;
    if (der === undefined) return make(type, options);
    const privateKey = crypto.createPrivateKey({ key: Buffer.from(der, 'base64'), format: 'der', type: 'pkcs8' });
    return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
  };
  Object.assign(crypto, { generateKeyPairSync: Object.assign(take, { make }) });
}
