/** A small table with one reader, and links to put into it. */
import { createLinkTableMemory, type Link, type LinkTableOptions } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { systemClock } from '../../src/system-clock.ts';

export function openTable(more: Partial<LinkTableOptions> = {}) {
  const memory = createLinkTableMemory({
    slotBytesMax: 2 ** 22,
    arenaBytesMax: 2 ** 24,
    readersMax: 2,
    linksExpected: 0,
    ...more,
  });
  return { memory, writer: new LinkWriter(memory, systemClock), reader: new LinkReader(memory, 0) };
}

export function linkOf(key: string, more: Partial<Link> = {}): Link {
  return {
    key,
    codeNo: 1,
    workspaceNo: 2,
    target: 'https://example.com/',
    expiresAtMs: 0,
    scansLeft: -1,
    state: 'live',
    ...more,
  };
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** What a reader can tell of a key. */
export function read(reader: LinkReader, key: string) {
  const handle = reader.find(`/q/${key}`, 3);
  if (handle === 0) return undefined;
  const shared = { codeNo: reader.codeNo(handle), workspaceNo: reader.workspaceNo(handle) };
  const scansLeft = reader.scansLeft(handle);
  const state = reader.state(handle);
  if (state !== 'live') return { ...shared, scansLeft, state };
  return {
    ...shared,
    scansLeft,
    state,
    target: textOf(reader.target(handle)),
    expiresAtMs: reader.expiresAtMs(handle),
  };
}
