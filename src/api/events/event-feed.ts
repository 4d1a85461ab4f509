/**
 * One live stream's walk through what happens in a workspace: the outbox and the scans, from a place on.
 *
 *   place   "<outbox sequence>-<block sequence>.<entries done>"   what a client sends back to go on
 *
 * The two logs are the buffer: a stream holds its place and the piece it is sending, however slow its
 * client is. An event goes out under the place right behind it, so going on from there neither repeats
 * nor skips one. Within a piece, events of the outbox come before scans.
 */
import type { EventKind } from '../../model/event.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { EventPlace } from '../../scans/query/scan-events.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';

/** Text of one piece, after which the client must have taken it before the next is made. */
const pieceLengthMax = 65_536;
/** Events looked at for one piece in each log: about 2 ms together. */
const stepEventsMax = 200;
const placePattern = /^(\d{1,15})-(\d{1,15})\.(\d{1,9})$/;

export interface FeedPlace {
  /** Sequence of the last event of the outbox that is done. */
  readonly event: number;
  readonly scan: EventPlace;
}

export interface FeedFilter {
  readonly workspaceNo: number;
  /** Undefined = all kinds. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
  /** Only what is about this code (`qr_…`). */
  readonly codeId: string | undefined;
}

export interface FeedSources {
  readonly outbox: Outbox;
  readonly scans: Pick<ScanQueries['events'], 'newest' | 'after' | 'isPast'>;
}

export interface FeedPiece {
  readonly text: string;
  /** More is there now; else wait for a commit. */
  readonly hasMore: boolean;
}

export function parsePlace(text: string): FeedPlace | undefined {
  const [, event, sequence, entry] = placePattern.exec(text) ?? [];
  if (event === undefined) return undefined;
  return { event: Number(event), scan: { sequence: Number(sequence), entry: Number(entry) } };
}

const formatPlace = ({ event, scan }: FeedPlace): string =>
  `${event}-${scan.sequence}.${scan.entry}`;

export class EventFeed {
  readonly #sources: FeedSources;
  readonly #filter: FeedFilter;
  #place: FeedPlace;
  #text = '';
  /** Events between the client's place and the oldest that is kept are gone. */
  readonly hasGap: boolean;

  /** @param from where the client was; undefined = from now on */
  constructor(sources: FeedSources, filter: FeedFilter, from: FeedPlace | undefined) {
    this.#sources = sources;
    this.#filter = filter;
    const { outbox, scans } = sources;
    const newest = { event: outbox.lastSequence, scan: scans.newest() };
    // A place that is yet to come is of another history: of a store that was restored since.
    const isKnown =
      from !== undefined &&
      from.event <= newest.event &&
      from.scan.sequence <= newest.scan.sequence;
    this.#place = isKnown ? from : newest;
    const oldest = isKnown ? outbox.after(from.event, 1)[0]?.sequence : undefined;
    const isEventGone = oldest !== undefined && from !== undefined && oldest > from.event + 1;
    this.hasGap = from !== undefined && (!isKnown || isEventGone || scans.isPast(from.scan));
  }

  /** An id that a client goes on from, without an event. */
  get mark(): string {
    return `id: ${formatPlace(this.#place)}\n`;
  }

  /** The next events as text; empty when there are none that pass the filter. */
  next(): FeedPiece {
    this.#text = '';
    const hasMoreEvents = this.#takeEvents();
    const hasMoreScans = this.#text.length < pieceLengthMax && this.#takeScans();
    const isFull = this.#text.length >= pieceLengthMax;
    return { text: this.#text, hasMore: hasMoreEvents || hasMoreScans || isFull };
  }

  #takeEvents(): boolean {
    const { outbox } = this.#sources;
    const { workspaceNo, kinds, codeId } = this.#filter;
    const found = outbox.after(this.#place.event, stepEventsMax);
    for (const { sequence, kind, body, workspaceNo: owner } of found) {
      this.#place = { ...this.#place, event: sequence };
      if (owner !== workspaceNo || kinds?.has(kind) === false) continue;
      if (codeId !== undefined && !isAbout(body, codeId)) continue;
      this.#add(body);
      if (this.#text.length >= pieceLengthMax) return true;
    }
    return found.length === stepEventsMax;
  }

  #takeScans(): boolean {
    const { scans } = this.#sources;
    const { workspaceNo, kinds, codeId } = this.#filter;
    if (kinds?.has('qr.scanned') === false) {
      this.#place = { ...this.#place, scan: scans.newest() };
      return false;
    }
    const step = scans.after(workspaceNo, this.#place.scan, stepEventsMax);
    for (const { event, place } of step.events) {
      this.#place = { ...this.#place, scan: place };
      if (codeId === undefined || event.data.qrId === codeId) this.#add(JSON.stringify(event));
    }
    this.#place = { ...this.#place, scan: step.place };
    return step.hasMore;
  }

  /** JSON has no line breaks of its own: one line of data an event. */
  #add(json: string): void {
    this.#text += `${this.mark}data: ${json}\n\n`;
  }
}

function isAbout(body: string, codeId: string): boolean {
  if (!body.includes(codeId)) return false;
  const { data }: { data: Readonly<Record<string, unknown>> } = JSON.parse(body);
  return data.id === codeId || data.qrId === codeId;
}
