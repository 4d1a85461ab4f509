/**
 * What happens in a workspace, for one live stream: the events of the outbox and the scans, from a position
 * on.
 *
 *   position   "<outbox sequence>-<block sequence>.<entries done>"   what a client sends back to go on
 *
 * The two logs are the buffer: a stream holds its position and the chunk that it is sending, however slow
 * its client is. An event carries the position right after it, so going on from there neither repeats nor
 * skips one. Within a chunk, events of the outbox come before scans.
 */
import type { EventKind } from '../../model/event.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import type { EventPlace } from '../../scans/query/scan-events.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Characters of a chunk; the next is made when the client has taken it. */
const chunkLengthMax = 65_536;
/** Events read for one chunk from each log: about 2 ms together. */
const eventsMax = 200;
const positionPattern = /^(\d{1,15})-(\d{1,15})\.(\d{1,9})$/;

export interface FeedPosition {
  /** Sequence of the last event of the outbox that was sent or skipped. */
  readonly event: number;
  readonly scan: EventPlace;
}

export interface FeedFilter {
  readonly workspaceNo: WorkspaceNo;
  /** Undefined = all kinds. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
  /** Only what is about this code (`qr_…`). */
  readonly codeId: string | undefined;
}

export interface FeedSources {
  readonly outbox: Outbox;
  readonly scans: Pick<ScanQueries['events'], 'newest' | 'after' | 'isPast'>;
}

export function parsePosition(text: string): FeedPosition | undefined {
  const [, event, sequence, entry] = positionPattern.exec(text) ?? [];
  if (event === undefined) return undefined;
  return { event: Number(event), scan: { sequence: Number(sequence), entry: Number(entry) } };
}

export class EventFeed {
  readonly #sources: FeedSources;
  readonly #filter: FeedFilter;
  #event: number;
  #scan: EventPlace;
  #text = '';
  /** Events between the client's position and the oldest that is kept were deleted. */
  readonly hasGap: boolean;

  /** @param from where the client was; undefined = from now on */
  constructor(sources: FeedSources, filter: FeedFilter, from: FeedPosition | undefined) {
    this.#sources = sources;
    this.#filter = filter;
    const { outbox, scans } = sources;
    const newest = { event: outbox.lastSequence, scan: scans.newest() };
    // A position in the future is of another history: of a store that was restored since.
    const isKnown =
      from !== undefined &&
      from.event <= newest.event &&
      from.scan.sequence <= newest.scan.sequence;
    const start = isKnown ? from : newest;
    this.#event = start.event;
    this.#scan = start.scan;
    const oldest = isKnown ? outbox.after(from.event, 1)[0]?.sequence : undefined;
    const isEventDeleted = oldest !== undefined && from !== undefined && oldest > from.event + 1;
    this.hasGap = from !== undefined && (!isKnown || isEventDeleted || scans.isPast(from.scan));
  }

  /** The position as a line of the stream: what a client goes on from. */
  get idLine(): string {
    return `id: ${this.#event}-${this.#scan.sequence}.${this.#scan.entry}\n`;
  }

  /**
   * The next chunk; empty when no event passed the filter.
   * @returns `hasMore` false = wait for a commit
   */
  next(): { readonly text: string; readonly hasMore: boolean } {
    this.#text = '';
    const hasMoreEvents = this.#takeEvents();
    const hasMoreScans = this.#text.length < chunkLengthMax && this.#takeScans();
    const isFull = this.#text.length >= chunkLengthMax;
    return { text: this.#text, hasMore: hasMoreEvents || hasMoreScans || isFull };
  }

  #takeEvents(): boolean {
    const { workspaceNo, kinds, codeId } = this.#filter;
    const found = this.#sources.outbox.after(this.#event, eventsMax);
    for (const { sequence, kind, body, workspaceNo: owner } of found) {
      this.#event = sequence;
      if (owner !== workspaceNo || kinds?.has(kind) === false) continue;
      if (codeId !== undefined && !isAbout(body, codeId)) continue;
      this.#add(body);
      if (this.#text.length >= chunkLengthMax) return true;
    }
    return found.length === eventsMax;
  }

  #takeScans(): boolean {
    const { scans } = this.#sources;
    const { workspaceNo, kinds, codeId } = this.#filter;
    if (kinds?.has('qr.scanned') === false) {
      this.#scan = scans.newest();
      return false;
    }
    const found = scans.after(workspaceNo, this.#scan, eventsMax);
    for (const { event, place } of found.events) {
      this.#scan = place;
      if (codeId === undefined || event.data.qrId === codeId) this.#add(JSON.stringify(event));
    }
    this.#scan = found.place;
    return found.hasMore;
  }

  /** JSON has no line breaks of its own: each event is one line of data. */
  #add(json: string): void {
    this.#text += `${this.idLine}data: ${json}\n\n`;
  }
}

function isAbout(body: string, codeId: string): boolean {
  if (!body.includes(codeId)) return false;
  const { data }: { data: Readonly<Record<string, unknown>> } = JSON.parse(body);
  return data.id === codeId || data.qrId === codeId;
}
