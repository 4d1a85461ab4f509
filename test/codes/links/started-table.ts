/** Codes behind a real link table, loaded as a start loads it: from the image where it can be used. */
import type { Codes } from '../../../src/codes/codes.ts';
import {
  findLinkImage,
  LinkImage,
  type LinkImageOptions,
} from '../../../src/codes/links/link-image.ts';
import { LinkRefresher } from '../../../src/codes/links/link-refresher.ts';
import { addressSpace, createLinkTableMemory } from '../../../src/links/layout.ts';
import { LinkReader } from '../../../src/links/reader.ts';
import { LinkWriter } from '../../../src/links/writer.ts';
import type { Management } from '../../../src/store/management/management.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { systemClock } from '../../../src/system-clock.ts';

export interface TableStart {
  readonly store: Management;
  /** Of the image. */
  readonly folder: string;
  readonly openCodes: (links: LinkWriter) => Codes;
  readonly onPiece?: (() => Promise<void> | void) | undefined;
  readonly monotonicMs?: () => number;
  readonly localTransaction?: LinkImageOptions['localTransaction'];
}

export async function startTable({ store, folder, openCodes, ...options }: TableStart) {
  const { onPiece, monotonicMs, localTransaction } = options;
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const found = findLinkImage(store, folder, log);
  const memory = createLinkTableMemory({
    ...addressSpace,
    readersMax: 1,
    linksExpected: 16,
    layout: found?.layout,
  });
  const writer = new LinkWriter(memory, systemClock);
  const codes = openCodes(writer);
  const { links } = codes;
  const refresher = new LinkRefresher(store, links, log);
  const image = new LinkImage({
    store,
    memory,
    writer,
    links,
    refresher,
    folder,
    log,
    monotonicMs: monotonicMs ?? (() => 0),
    found,
    localTransaction,
    ...(onPiece === undefined ? {} : { onPiece }),
  });
  await image.load();
  const reader = new LinkReader(memory, 0);
  /** Target and scans left, -1 = no limit; or why there is no target. */
  const see = (key: string): string => {
    const handle = reader.find(key, 0);
    if (handle === 0) return 'unknown';
    const state = reader.state(handle);
    if (state !== 'live') return state;
    return `${Buffer.from(reader.target(handle)).toString('latin1')} ${reader.scansLeft(handle)}`;
  };
  const isFromImage = lines.some((line) => line.includes('"from":"image"'));
  const warnings = lines.filter((line) => line.includes('"level":"warn"'));
  return { codes, image, writer, reader, see, isFromImage, warnings };
}
