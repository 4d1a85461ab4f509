/**
 * GET /events: what happened, newest first, from two logs: the management outbox and the scans.
 *
 *   outbox.newest(before sequence) --+
 *                                    +--> by id, whose first 48 bits are the time --> page
 *   scans.page(before position)   --+
 *
 * One opaque cursor carries a position in each log, so pages neither repeat nor skip an event. An event that arrives late
 * is before its log's position, with the new events. In a cluster the cursor also names the core whose blocks it counts.
 * Another core continues by time: scans of the minute around it repeat, with the same ids.
 */
import { z } from 'zod';
import type { EventEnvelope, EventKind } from '../../model/event.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { ScanQueries } from '../../engine/analytics/queries.ts';
import type { Role } from '../../model/workspace.ts';
import { eventText } from './event-view.ts';
import { cursorField, queryInteger } from '../kernel/fields.ts';
import { event } from './event-schemas.ts';
import { cursorPageSchema, getRoute } from '../kernel/resource.ts';
import type { Route } from '../kernel/route.ts';
import type { EventLogs } from './stream-position.ts';
import { kind } from '../webhooks/deliveries.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Rows of the outbox read at once, and batches read for one page when a filter drops most of them. */
const batchRows = 200;
const batchesMax = 25;

const query = z.object({
  type: kind.optional().meta({ description: 'Only events of this kind' }),
  limit: queryInteger(1, 100, 20).meta({ description: 'Items a page' }),
  cursor: cursorField.meta({ description: '`nextCursor` of the previous page' }),
});

const eventPage = cursorPageSchema('EventPage', event);

/** Where a page starts in each log: absent = at the newest, null = nothing left. */
const cursorShape = z.strictObject({
  o: z.int().min(0).nullable().optional(),
  s: z.string().max(300).nullable().optional(),
  /** Whose blocks `s` names, and the time of its block; absent on a standalone machine. */
  of: z.string().max(100).optional(),
  t: z.int().optional(),
});
type Cursor = z.output<typeof cursorShape>;

interface Row {
  readonly id: string;
  readonly timeMs: number;
  readonly event: unknown;
  /** Sequence in the outbox; undefined for a scan. */
  readonly sequence: number | undefined;
}

export function eventRoutes(logs: EventLogs): Route[] {
  const { outbox, scans, positions, scanStore } = logs;
  const listEvents = getRoute({
    path: '/events',
    operationId: 'listEvents',
    access: 'viewer',
    tag: 'Events',
    summary: 'List events',
    description:
      'The workspace’s events, newest first, in the envelope of webhooks. An `id` is also a `Last-Event-ID` ' +
      'of the [stream](#streamEvents). `email` of `member.invited` is `hidden@hidden.invalid` for roles below admin.',
    query,
    schema: eventPage,
    what: 'A page of events',
    read: ({ actor: { role, workspaceNo }, query: { type, limit, cursor } }) => {
      const own = positions.of(workspaceNo, 'events');
      const asked = parseCursor(own.read(cursor));
      const position = asked.of === scanStore ? asked : continued(scans, asked);
      const page = readPage({ outbox, scans, workspaceNo, role }, type, limit, position);
      return { data: page.data, limit, nextCursor: own.write(cursorText(page.next, logs)) };
    },
  });
  return [listEvents];
}

interface Logs extends Pick<EventLogs, 'outbox' | 'scans'> {
  readonly workspaceNo: WorkspaceNo;
  /** Role of the reader: some fields are only for admins. */
  readonly role: Role;
}

function readPage(
  logs: Logs,
  type: EventKind | undefined,
  limit: number,
  position: Cursor,
): { data: unknown[]; next: Cursor | undefined } {
  const outboxPart =
    type === 'qr.scanned' ? { rows: [], rest: null } : readOutbox(logs, type, limit, position.o);
  const { scans: events, workspaceNo } = logs;
  const wantsScans = type === undefined || type === 'qr.scanned';
  let scans = wantsScans ? readScans(events, workspaceNo, position.s, limit) : nothing;
  const merged = merge(outboxPart.rows, scans.rows).slice(0, limit);
  const taken = merged.filter((row) => row.sequence === undefined).length;
  // A cursor follows a whole page, so the rows that are taken are read again as one.
  if (taken < scans.rows.length) {
    scans = taken === 0 ? unread(position.s) : readScans(events, workspaceNo, position.s, taken);
  }
  const rows = merge(outboxPart.rows.slice(0, limit - scans.rows.length), scans.rows);
  const lastSequence = rows.findLast((row) => row.sequence !== undefined)?.sequence;
  const isOutboxRead = outboxPart.rows.length === rows.length - scans.rows.length;
  const o = isOutboxRead ? outboxPart.rest : (lastSequence ?? position.o);
  const isEnd = o === null && scans.rest === null;
  return {
    data: rows.map((row) => row.event),
    next: isEnd ? undefined : { o, s: scans.rest },
  };
}

interface Part {
  readonly rows: readonly Row[];
  /** Where the next page starts here. */
  readonly rest: string | null | undefined;
}

const nothing: Part = { rows: [], rest: null };
const unread = (rest: string | null | undefined): Part => ({ rows: [], rest });

function readScans(
  events: ScanQueries['events'],
  workspaceNo: WorkspaceNo,
  before: string | null | undefined,
  limit: number,
): Part {
  if (before === null) return nothing;
  const page = events.page(workspaceNo, before, limit);
  return { rows: page.data.map(scanRow), rest: page.before ?? null };
}

function scanRow(event: EventEnvelope): Row {
  return { id: event.id, timeMs: idTimeMs(event.id), event, sequence: undefined };
}

/** Up to `limit` events of `type`; a filter reads on for a bounded number of rows. */
function readOutbox(
  { outbox, workspaceNo, role }: Logs,
  type: EventKind | undefined,
  limit: number,
  start: number | null | undefined,
): { rows: readonly Row[]; rest: number | null } {
  if (start === null) return { rows: [], rest: null };
  const rows: Row[] = [];
  const rowsWanted = type === undefined ? limit : batchRows;
  let before = start;
  for (let batch = 0; batch < batchesMax; batch += 1) {
    const found = outbox.newest(workspaceNo, before, rowsWanted);
    for (const row of found) {
      before = row.sequence;
      if (type !== undefined && row.kind !== type) continue;
      const event: unknown = JSON.parse(eventText(row.kind, row.body, role));
      rows.push({ id: row.id, timeMs: idTimeMs(row.id), event, sequence: row.sequence });
      if (rows.length === limit) return { rows, rest: before };
    }
    if (found.length < rowsWanted) return { rows, rest: null };
  }
  return { rows, rest: before ?? null };
}

/** Newest first; each part keeps its own order, whatever its clock did. */
function merge(outbox: readonly Row[], scans: readonly Row[]): Row[] {
  const merged: Row[] = [];
  let [one, two] = [0, 0];
  for (;;) {
    const [left, right] = [outbox[one], scans[two]];
    if (left !== undefined && (right === undefined || left.timeMs >= right.timeMs)) {
      merged.push(left);
      one += 1;
    } else if (right !== undefined) {
      merged.push(right);
      two += 1;
    } else {
      return merged;
    }
  }
}

/** Translates a cursor of another core. */
function continued(scans: ScanQueries['events'], { o, s, of, t }: Cursor): Cursor {
  if (of === undefined || typeof s !== 'string') return { o, s };
  return t === undefined ? { o } : { o, s: scans.pageFrom(t) };
}

function cursorText(
  next: Cursor | undefined,
  { scanStore: of, scans, clock }: EventLogs,
): string | undefined {
  if (next === undefined || of === undefined) return next && JSON.stringify(next);
  const t = typeof next.s === 'string' ? scans.timeOf(next.s, clock.now()) : undefined;
  return JSON.stringify({ ...next, of, t });
}

function parseCursor(text: string | undefined): Cursor {
  return text === undefined ? {} : cursorShape.parse(JSON.parse(text));
}
