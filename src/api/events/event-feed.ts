/**
 * The events of one live stream: those of the outbox and the scans of a workspace, from a position in both logs on. To
 * resume, a client sends its last position (stream-position.ts).
 *
 * The two logs are the buffer: a stream holds its position and the chunk that it is sending, however slow its client is.
 * Each event carries the position after it, so a client that resumes misses no event and gets none twice. Encrypting a
 * position takes about 10 µs. Within a chunk, events of the outbox come before scans.
 */
import type { EventKind } from '../../model/event.ts';
import type { EventCursor } from '../../engine/analytics/scan-events.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { Role } from '../../model/workspace.ts';
import { eventText } from './event-view.ts';
import {
  type EventLogs,
  type FeedPosition,
  type StreamStart,
  writePosition,
} from './stream-position.ts';

/** Characters of a chunk; the next is made when the client has taken it. */
const chunkLengthMax = 65_536;
/** Events read for one chunk from each log: about 3 ms together, most of it for their positions. */
const eventsMax = 100;

export interface FeedFilter {
  readonly workspaceNo: WorkspaceNo;
  /** Role of the reader: some fields are only for admins. */
  readonly role: Role;
  /** Undefined = all kinds. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
  /** Only events about this code (`qr_…`). */
  readonly codeId: string | undefined;
}

export class EventFeed {
  readonly #sources: EventLogs;
  readonly #filter: FeedFilter;
  #event: number;
  #scan: EventCursor;
  readonly #behind: FeedPosition['behind'];
  #text = '';
  /** Events after the client's position have expired. */
  readonly hasGap: boolean;

  /** @param from where the client was; undefined = from now on */
  constructor(sources: EventLogs, filter: FeedFilter, from: StreamStart | undefined) {
    this.#sources = sources;
    this.#filter = filter;
    const { outbox, scans } = sources;
    const newest = { event: outbox.lastSequence, scan: scans.newest() };
    // A position in the future is of another history: the store was restored.
    const isKnown =
      from !== undefined &&
      from !== 'unknown' &&
      from.event <= newest.event &&
      from.scan.sequence <= newest.scan.sequence;
    const start = isKnown ? from : newest;
    this.#event = start.event;
    this.#scan = start.scan;
    this.#behind = isKnown ? from.behind : undefined;
    const oldest = isKnown ? outbox.after(from.event, 1)[0]?.sequence : undefined;
    const isEventDeleted = isKnown && oldest !== undefined && oldest > from.event + 1;
    const isGone = !isKnown || isEventDeleted || scans.isPast(from.scan);
    this.hasGap = from !== undefined && isGone;
  }

  /** The line of the stream that names the present position. */
  idLine(): string {
    const position = { event: this.#event, scan: this.#scan };
    return `id: ${writePosition(this.#sources, this.#filter.workspaceNo, position)}\n`;
  }

  /**
   * The next chunk; empty when no event passed the filter.
   * @returns `hasMore` false = wait for a commit
   */
  next(): { readonly text: string; readonly hasMore: boolean } {
    this.#text = '';
    const hasMoreEvents = this.#takeEvents();
    const hasMoreScans = this.#text.length < chunkLengthMax && this.#takeScans();
    return { text: this.#text, hasMore: hasMoreEvents || hasMoreScans };
  }

  #takeEvents(): boolean {
    const { workspaceNo, role, kinds, codeId } = this.#filter;
    const found = this.#sources.outbox.after(this.#event, eventsMax);
    for (const { sequence, kind, body, workspaceNo: owner } of found) {
      this.#event = sequence;
      if (owner !== workspaceNo) continue;
      if (kinds?.has(kind) === false || (codeId !== undefined && !isAbout(body, codeId))) continue;
      this.#add(eventText(kind, body, role));
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
    for (const { event, cursor } of found.events) {
      this.#scan = cursor;
      if (this.#isBefore(event.id, cursor.sequence)) continue;
      if (codeId === undefined || event.data.qrId === codeId) {
        this.#add(JSON.stringify(event));
      }
    }
    this.#scan = found.cursor;
    return found.hasMore;
  }

  #isBefore(id: string, sequence: number): boolean {
    const behind = this.#behind;
    return behind !== undefined && sequence <= behind.sequence && id <= behind.id;
  }

  /** JSON has no line breaks of its own: each event is one line of data. */
  #add(json: string): void {
    this.#text += `${this.idLine()}data: ${json}\n\n`;
  }
}

function isAbout(body: string, codeId: string): boolean {
  if (!body.includes(codeId)) return false;
  const { data }: { data: Readonly<Record<string, unknown>> } = JSON.parse(body);
  return data.id === codeId || data.qrCodeId === codeId;
}
