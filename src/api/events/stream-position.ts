/**
 * Where a live stream goes on: what clients send back as Last-Event-ID, read and written.
 *
 *   id of the stream   <encrypted "<outbox sequence>-<block sequence>.<entries done>">.<events>.<scans>: behind so
 *                      many own events of each log after that position, exactly behind one
 *   evt_…              an event of GET /events: right after it in its own log, from its time on in the other
 *   other texts of the first form, and ids of earlier releases are unknown
 *
 * The two logs have no common order. After an event of the outbox the scans of the second before it are sent again,
 * because they may have been committed after it; after a scan, only outbox events of its millisecond.
 */
import { invalid } from '../../model/failure.ts';
import { idTimeMs, parseId } from '../../model/ids.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import type { EventPlace } from '../../scans/query/scan-events.ts';
import type { Positions } from '../positions.ts';

/** A scan is committed within 400 ms; twice that and some. */
const commitMsMax = 1_000;
const plainPattern = /^(\d{1,15})-(\d{1,15})\.(\d{1,9})$/;
/** A chunk has at most 200 of each. */
const idPattern = /^([\w-]{59,400})(?:\.(\d{1,3})\.(\d{1,3}))?$/;

/** Own events of the outbox, and own scans. */
export interface Passed {
  events: number;
  scans: number;
}

export interface FeedPosition {
  /** Sequence of the last event of the outbox that was sent or skipped. */
  readonly event: number;
  readonly scan: EventPlace;
  /** Own events behind it that the client has had. */
  readonly passed?: Readonly<Passed>;
  /** Scans up to this block are sent only when their id comes after this one. */
  readonly behind?: { readonly sequence: number; readonly id: string };
}

/** `unknown`: of another workspace, or of a history that is no longer there. */
export type StreamStart = FeedPosition | 'unknown';

export interface PositionSources {
  readonly outbox: Outbox;
  readonly scans: ScanQueries['events'];
  readonly positions: Positions;
}

export function writePosition(
  positions: Positions,
  workspaceNo: WorkspaceNo,
  { event, scan }: FeedPosition,
): string {
  return positions.of(workspaceNo, 'stream').encrypt(`${event}-${scan.sequence}.${scan.entry}`);
}

/** @throws Failure validation_failed for what no id looks like */
export function readPosition(
  sources: PositionSources,
  workspaceNo: WorkspaceNo,
  id: string,
): StreamStart {
  if (parseId('evt', id) !== undefined) return behindEvent(sources, workspaceNo, id) ?? 'unknown';
  if (plainPattern.test(id)) return 'unknown';
  const [, position, events = '0', scans = '0'] = idPattern.exec(id) ?? [];
  if (position === undefined) {
    throw invalid(
      'lastEventId',
      'invalid',
      'Expected an id of this stream, or of an event (evt_…)',
    );
  }
  const text = sources.positions.of(workspaceNo, 'stream').decrypt(position) ?? '';
  const [, event, sequence, entry] = plainPattern.exec(text) ?? [];
  if (event === undefined) return 'unknown';
  return {
    event: Number(event),
    scan: { sequence: Number(sequence), entry: Number(entry) },
    passed: { events: Number(events), scans: Number(scans) },
  };
}

function behindEvent(
  { outbox, scans }: PositionSources,
  workspaceNo: WorkspaceNo,
  id: string,
): FeedPosition | undefined {
  const timeMs = idTimeMs(id);
  const event = outbox.find(workspaceNo, id);
  if (event !== undefined) return { event, scan: scans.placeAt(timeMs - commitMsMax) };
  const sequence = scans.blockOf(workspaceNo, id);
  if (sequence === undefined) return undefined;
  const scan = scans.placeAt(timeMs);
  return { event: outbox.sequenceAt(timeMs) - 1, scan, behind: { sequence, id } };
}
