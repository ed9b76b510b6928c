/** Load commands of a 64-bit Mach-O file, and the parts of its header that count them (`mach-o/loader.h`). */
const SEGMENT = 0x19;
const CODE_SIGNATURE = 0x1d;
const [COUNT, SIZE, FIRST_COMMAND] = [16, 20, 32];

/** Returns where the load commands of this type begin in a Mach-O file. */
function commandsOf(file: Buffer, type: number): number[] {
  const found: number[] = [];
  for (let index = 0, at = FIRST_COMMAND; index < file.readUInt32LE(COUNT); index++) {
    if (file.readUInt32LE(at) === type) found.push(at);
    at += file.readUInt32LE(at + 4);
  }
  return found;
}

/** Returns the first and the last byte of the code signature of a Mach-O file, or undefined if it has none. */
export function signatureOf(file: Buffer): { readonly start: number; readonly end: number } | undefined {
  const [command] = commandsOf(file, CODE_SIGNATURE);
  if (command === undefined) return undefined;
  const start = file.readUInt32LE(command + 8);
  return { start, end: start + file.readUInt32LE(command + 12) };
}

/**
 * Returns a Mach-O file without its code signature, as `codesign --remove-signature` does. Bun signs what it compiles
 * for arm64, and leaves the signature of its own executable in what it compiles for x64, where a wrong signature is
 * worse than none.
 *
 * @throws Error if the signature is not the last part of the file.
 */
export function withoutSignature(file: Buffer): Buffer {
  const signature = signatureOf(file);
  if (signature === undefined) return file;
  const [command = 0] = commandsOf(file, CODE_SIGNATURE);
  const linkEdit = commandsOf(file, SEGMENT).at(-1) ?? 0;
  const end = FIRST_COMMAND + file.readUInt32LE(SIZE);
  const length = file.readUInt32LE(command + 4);
  if (signature.end !== file.length) throw new Error('Cannot remove the code signature: it is not the end of the file');

  const unsigned = Buffer.from(file.subarray(0, signature.start));
  // The last segment, __LINKEDIT, ends with the signature.
  const [offset, size] = [file.readBigUInt64LE(linkEdit + 40), linkEdit + 48];
  unsigned.writeBigUInt64LE(BigInt(signature.start) - offset, size);
  unsigned.copyWithin(command, command + length, end).fill(0, end - length, end);
  unsigned.writeUInt32LE(file.readUInt32LE(COUNT) - 1, COUNT);
  unsigned.writeUInt32LE(file.readUInt32LE(SIZE) - length, SIZE);
  return unsigned;
}
