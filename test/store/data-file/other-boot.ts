/** Data files as another boot left them: of another machine, of before a restart, or seen from another container. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** The two meta pages, and lmdb-js's third in the middle of the first: of what has reached the disk. */
const [even, confirmed, odd] = [0, 2_048, 4_096];
const metaBytes = 168;
const flagsAt = 52;
const transactionAt = 152;
const bootAt = 160;
const unconfirmed = 0x1000;

/** @param onDisk the transaction that has reached the disk: the newest at rest, the one before in the middle of a commit */
export function asOfAnotherBoot(path: string, onDisk: 'newest' | 'before', boot = 77n): void {
  const file = openSync(path, 'r+');
  const metas = [even, odd].map((at) => {
    const bytes = Buffer.alloc(metaBytes);
    readSync(file, bytes, 0, metaBytes, at);
    bytes.writeBigInt64LE(boot, bootAt);
    bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt) | unconfirmed, flagsAt);
    return { at, bytes, transaction: bytes.readBigUInt64LE(transactionAt) };
  });
  for (const { at, bytes } of metas) writeSync(file, bytes, 0, metaBytes, at);
  const [before, newest] = metas.toSorted((a, b) => (a.transaction < b.transaction ? -1 : 1));
  const bytes = (onDisk === 'newest' ? newest : before)?.bytes;
  if (bytes === undefined) throw new Error('Cannot find the meta pages');
  bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt) & ~unconfirmed, flagsAt);
  // Without magic and version: only what follows them is read here.
  writeSync(file, bytes, 32, metaBytes - 32, confirmed + 32);
  closeSync(file);
}
