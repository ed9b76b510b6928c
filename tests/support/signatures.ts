import { createHash } from 'node:crypto';

const bytesOf = (value: bigint) => Buffer.from(value.toString(16).padStart(512, '0'), 'hex');
/**
 * Returns a forgery whose cube begins with the padding and the hash (Bleichenbacher 2006), for keys with the exponent
 * 3.
 */
export function forgeCubeRoot(input: Buffer): Buffer {
  const hash = createHash('sha256').update(input).digest('hex');
  const start = `0001${'ff'.repeat(8)}003031300d060960864801650304020105000420${hash}`;
  const block = BigInt(`0x${start.padEnd(512, '0')}`);
  let root = 0n;
  for (let bit = 1n << 680n; bit > 0n; bit >>= 1n) if ((root + bit) ** 3n < block) root += bit;
  root += 1n;
  const cube = bytesOf(root ** 3n).toString('hex');
  if (!cube.startsWith(start)) throw new TypeError('The forgery failed');
  return bytesOf(root);
}

/**
 * Every encoding of a point of order 1, 2, 4 or 8 on Ed25519, for which anyone can sign: the values of y, with either
 * sign of x.
 */
export const smallOrder = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ...['ec', 'ed', 'ee'].map((first) => `${first}${'ff'.repeat(30)}7f`),
].flatMap((y) => {
  const bytes = Buffer.from(y, 'hex');
  return [bytes, bytes.with(31, (bytes[31] ?? 0) | 0x80)].map((x) => Buffer.from(x).toString('base64url'));
});
