import { isIPv4, isIPv6 } from 'node:net';

/** An address as a scan record carries it: 16 bytes, IPv4 as ::ffff:a.b.c.d. */
export function parseAddress(text: string): Buffer {
  const bytes = Buffer.alloc(16);
  if (isIPv4(text)) {
    bytes.set([0xff, 0xff, ...text.split('.').map(Number)], 10);
    return bytes;
  }
  if (!isIPv6(text)) throw new Error(`Cannot parse address ${text}`);
  const [head = '', tail] = text.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const first = groups(head);
  const last = tail === undefined ? [] : groups(tail);
  for (const [index, group] of first.entries()) bytes.writeUInt16BE(group, index * 2);
  for (const [index, group] of last.entries()) {
    bytes.writeUInt16BE(group, 16 - (last.length - index) * 2);
  }
  return bytes;
}
