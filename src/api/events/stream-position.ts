/**
 * Reads and writes the ids of a live stream, which clients send back as Last-Event-ID to resume.
 *
 *   id of the stream   encrypted "<outbox sequence>-<block sequence>.<entries done>", right after an event; in a cluster
 *                      with "@<store>@<time>": whose blocks these are, and the time of this one
 *   evt_…              an event of GET /events: right after it in its own log, from its time on in the other
 *   other texts of the first form are unknown
 *
 * The two logs have no common order. After an event of the outbox, the scans of the second before it repeat, because they
 * may have been committed after it. After a scan, only outbox events of its millisecond repeat.
 *
 * Each core has its own blocks of scans, but all have the same outbox. The scans of the minute before an id repeat if the
 * id is from another core's stream, or is an event's, which does not name its core. A scan may be missing if it reached
 * the other core more than a minute after this one.
 */
import type { Clock } from '../../model/clock.ts';
import { invalid } from '../../model/failure.ts';
import { idTimeMs, parseId } from '../../model/ids.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { ScanQueries } from '../../engine/analytics/queries.ts';
import type { EventCursor } from '../../engine/analytics/scan-events.ts';
import type { Positions } from '../kernel/positions.ts';

/** A scan is committed within 400 ms; twice that and some. */
const commitMsMax = 1_000;
const plainPattern = /^(\d{1,15})-(\d{1,15})\.(\d{1,9})(?:@([\w.]{1,80})@(\d{1,15}))?$/;
const idPattern = /^[\w-]{59,400}$/;

export interface FeedPosition {
  /** Sequence of the last event of the outbox that was sent or skipped. */
  readonly event: number;
  readonly scan: EventCursor;
  /** Scans up to this block are sent only when their id comes after this one. */
  readonly behind?: { readonly sequence: number; readonly id: string };
}

/** `unknown`: of another workspace, or of a history that was replaced. */
export type StreamStart = FeedPosition | 'unknown';

/** The two logs of events, and the cipher of positions in them. */
export interface EventLogs {
  readonly outbox: Outbox;
  readonly scans: ScanQueries['events'];
  readonly positions: Positions;
  readonly clock: Pick<Clock, 'now'>;
  /** Names the store whose blocks positions are about. Absent on a standalone machine. */
  readonly scanStore?: string | undefined;
}

export function writePosition(
  { positions, scans, clock, scanStore }: EventLogs,
  workspaceNo: WorkspaceNo,
  { event, scan }: FeedPosition,
): string {
  const timeMs = (): number => scans.timeOf(scan, clock.now());
  const of = scanStore === undefined ? '' : `@${scanStore}@${timeMs()}`;
  const text = `${event}-${scan.sequence}.${scan.entry}${of}`;
  return positions.of(workspaceNo, 'stream').encrypt(text);
}

/** @throws Failure validation_failed for what no id looks like */
export function readPosition(
  sources: EventLogs,
  workspaceNo: WorkspaceNo,
  id: string,
): StreamStart {
  if (parseId('evt', id) !== undefined) return behindEvent(sources, workspaceNo, id) ?? 'unknown';
  if (!idPattern.test(id)) {
    throw invalid(
      'lastEventId',
      'invalid',
      'Expected an id of this stream, or of an event (evt_…)',
    );
  }
  const text = sources.positions.of(workspaceNo, 'stream').decrypt(id) ?? '';
  const [, event, sequence, entry, store, timeMs] = plainPattern.exec(text) ?? [];
  if (event === undefined) return 'unknown';
  if (store !== sources.scanStore && store !== undefined) {
    return { event: Number(event), scan: sources.scans.continuedAt(Number(timeMs)) };
  }
  return { event: Number(event), scan: { sequence: Number(sequence), entry: Number(entry) } };
}

function behindEvent(
  { outbox, scans, scanStore }: EventLogs,
  workspaceNo: WorkspaceNo,
  id: string,
): FeedPosition | undefined {
  const timeMs = idTimeMs(id);
  const event = outbox.find(workspaceNo, id);
  const isAlone = scanStore === undefined;
  const before = isAlone ? scans.cursorAt(timeMs - commitMsMax) : scans.continuedAt(timeMs);
  if (event !== undefined) return { event, scan: before };
  const sequence = scans.blockOf(workspaceNo, id);
  if (sequence === undefined) return undefined;
  const after = outbox.sequenceAt(timeMs) - 1;
  if (!isAlone) return { event: after, scan: before };
  return { event: after, scan: scans.cursorAt(timeMs), behind: { sequence, id } };
}
