/** A small table with one reader, and links to put into it. */
import { createLinkTableMemory, type Link, type LinkTableOptions } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import type { RouteFacts } from '../../src/routes/program-reader.ts';
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

/** Numbers below a bound, the same in each run. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

export const anybody: RouteFacts = {
  nowMs: 0,
  device: 0,
  os: 0,
  browser: 0,
  country: 0,
  language: '',
  query: [],
  localMinutes: () => 0,
  splitPoint: () => 0,
};

/** What a program says, from its head to its last text; undefined without one. */
export function readProgram(
  reader: LinkReader,
  handle: number,
  localMinutes = (_zone: number): number => 0,
): string | undefined {
  const program = reader.program(handle);
  if (program === undefined) return undefined;
  const { words, fallback, startsAtMs, isPaused, passesQuery } = program;
  const text = (at: number): string =>
    at === 0
      ? ''
      : textOf(new Uint8Array(words.buffer, words.byteOffset + 4 * (at + 1), words[at]));
  program.follow({ ...anybody, localMinutes });
  const led = `${program.route} ${text(program.target)}`;
  return [startsAtMs, isPaused, passesQuery, text(fallback), led].join(' ');
}

/** What a reader can tell of a key. */
export function read(reader: LinkReader, key: string) {
  const handle = reader.find(`/q/${key}`, 3);
  if (handle === 0) return undefined;
  const shared = { codeNo: reader.codeNo(handle), workspaceNo: reader.workspaceNo(handle) };
  const scansLeft = reader.scansLeft(handle);
  const state = reader.state(handle);
  if (state !== 'live') return { ...shared, scansLeft, state };
  const program = readProgram(reader, handle);
  return {
    ...shared,
    scansLeft,
    state,
    target: textOf(reader.target(handle)),
    expiresAtMs: reader.expiresAtMs(handle),
    ...(program !== undefined && { program }),
  };
}
