/** A small table with one reader, and links to put into it. */
import {
  createLinkTableMemory,
  type Link,
  type LinkTableOptions,
} from '../../../src/engine/links/layout.ts';
import { LinkReader } from '../../../src/engine/links/reader.ts';
import { LinkWriter } from '../../../src/engine/links/writer.ts';
import type { RouteFacts } from '../../../src/engine/routes/program-reader.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';

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

/**
 * Targets that prove where they come from: key, version and a checksum over both and a padding whose
 * length changes with every version. A torn or reused entry cannot pass.
 */
type Tagged = Readonly<Record<'key' | 'version', number>>;

/** Never 8 characters: one key must not be another's look-alike. */
export function keyText(key: number): string {
  return `K${key
    .toString(36)
    .toUpperCase()
    .padStart(key % 3 === 0 ? 11 : 8, '0')}`;
}

export const taggedLink = (key: number, version: number, more: Partial<Link>): Link =>
  linkOf(keyText(key), {
    codeNo: key + 1,
    workspaceNo: version,
    target: tagTarget({ key, version }),
    ...more,
  });

function tagTarget({ key, version }: Tagged): string {
  const body = `https://t.example/${key}/${version}/${'x'.repeat((version * 37 + key * 11) % 200)}`;
  return `${body}/${checksum(body)}`;
}

/** @throws Error when the bytes are not exactly what `tagTarget` makes */
export function parseTarget(text: string): Tagged {
  const [key, version] = text.slice('https://t.example/'.length).split('/').map(Number);
  const tagged = { key: key ?? -1, version: version ?? -1 };
  if (!(tagged.version >= 0) || tagTarget(tagged) !== text) throw new Error(`Torn target: ${text}`);
  return tagged;
}

export function expiryOf(version: number): number {
  return version % 3 === 0 ? 1_700_000_000_000 + version : 0;
}

function checksum(text: string): number {
  let sum = 17;
  for (let i = 0; i < text.length; i += 1) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) >>> 0;
  return sum;
}
