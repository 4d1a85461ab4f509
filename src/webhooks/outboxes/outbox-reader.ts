/**
 * What webhooks read of an outbox: events (event-outbox.ts) and scans (scan-outbox.ts) alike. Both make the same
 * deliveries of the same entries whenever they read them, with the same ids and bytes.
 */
import type { EventKind } from '../../model/event.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import { isFor } from '../endpoints/endpoint-index.ts';
import type { OutboxName, Place, Position } from '../../store/delivery/delivery.ts';
import type { Delivery } from '../deliveries/delivery.ts';

/** The endpoints that an entry becomes deliveries for. @param events how many it has */
export type ListenersOf = (
  workspaceNo: WorkspaceNo,
  kind: EventKind,
  sequence: number,
  events: () => number,
) => readonly EndpointRecord[];

export interface ReadBounds {
  /** Stops after the entry, or the span of scans, that reaches this number of deliveries. */
  readonly deliveriesMax: number;
  /** Reads nothing behind it. */
  readonly upTo?: Position;
  /** The endpoint is behind: its scans come in lists, whatever their codes. */
  readonly isBatched?: boolean;
}

/** What one reading found: the deliveries of some entries in a row, oldest first. */
export interface Stretch {
  readonly created: readonly Delivery[];
  /** Everything up to here was read. */
  readonly position: Position;
  readonly hasMore: boolean;
}

export interface OutboxReader {
  readonly name: OutboxName;
  /** Sequence of the newest entry; 0 = none. */
  readonly newest: number;
  /** Lets the next reading see what was committed meanwhile. */
  refresh(): void;
  /** Nobody listens: entries up to the newest count as read. */
  skip?(): void;
  /** For many endpoints, of all workspaces. */
  read(from: Position, listenersOf: ListenersOf, bounds: ReadBounds): Stretch;
  /** For one endpoint. */
  readFor(endpoint: EndpointRecord, from: Position, bounds: ReadBounds): Stretch;
  /** For one endpoint, newest first: those behind `after` whose ids are below `beforeId`, which may be any text. */
  newestFor(
    endpoint: EndpointRecord,
    range: { readonly after: Position; readonly beforeId: string; readonly limit: number },
  ): Delivery[];
  /** The delivery at a place; undefined when its entry is damaged or gone. */
  at(endpoint: EndpointRecord, place: Place): Delivery | undefined;
  /** The delivery with the event; undefined for an unknown id. */
  find(endpoint: EndpointRecord, eventId: string): Delivery | undefined;
}

/** One endpoint alone. */
export const only =
  (endpoint: EndpointRecord): ListenersOf =>
  (workspaceNo, kind, sequence) =>
    workspaceNo === endpoint.workspaceNo && isFor(endpoint, kind, sequence) ? [endpoint] : [];

export const firstPosition: Position = [0, 0];

/** Below 0 when `one` comes first. */
export const comparePositions = (one: Position, other: Position): number =>
  one[0] - other[0] || one[1] - other[1];

/** The position behind a delivery's place. */
export const endOf = (outbox: OutboxName, [sequence, , last]: Place): Position =>
  outbox === 'events' ? [sequence, 0] : [sequence - 1, last + 1];
