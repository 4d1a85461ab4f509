/** Readers of the two outboxes: the same entries become the same deliveries, ids and bytes at every read. */
import type { EventKind } from '../../model/event.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import { isFor } from '../endpoints/endpoint-index.ts';
import type { OutboxName, DeliveryRef, Position } from '../../store/delivery/delivery.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import type { SentEvents } from './sent-events.ts';

/** The endpoints that get an entry. @param events counts its events */
export type ListenersOf = (
  workspaceNo: WorkspaceNo,
  kind: EventKind,
  sequence: number,
  events: () => number,
) => readonly EndpointRecord[];

export interface ReadBounds {
  /** Stops after the entry, or the span of scans, that reaches this number. */
  readonly deliveriesMax: number;
  readonly upTo?: Position;
  /** The endpoint lags: its scans come in lists across codes. */
  readonly isBatched?: boolean;
}

export interface NewestRange {
  readonly after: Position;
  readonly beforeId: string;
  readonly limit: number;
}

/** The deliveries of consecutive entries, oldest first. */
export interface ReadResult {
  readonly created: readonly Delivery[];
  readonly position: Position;
  readonly hasMore: boolean;
}

export interface OutboxReader {
  readonly name: OutboxName;
  /** Events that are left out; absent = none. */
  sent?: SentEvents;
  readonly newest: number;
  refresh(): void;
  read(from: Position, listenersOf: ListenersOf, bounds: ReadBounds): ReadResult;
  readFor(endpoint: EndpointRecord, from: Position, bounds: ReadBounds): ReadResult;
  /** Newest first, after `after` and with ids below `beforeId`, which may be any text. */
  newestFor(endpoint: EndpointRecord, range: NewestRange): Delivery[];
  /** The delivery of a ref; undefined if its entry is damaged or expired. */
  at(endpoint: EndpointRecord, ref: DeliveryRef): Delivery | undefined;
  find(endpoint: EndpointRecord, eventId: string): Delivery | undefined;
}

export const only =
  (endpoint: EndpointRecord): ListenersOf =>
  (workspaceNo, kind, sequence) =>
    workspaceNo === endpoint.workspaceNo && isFor(endpoint, kind, sequence) ? [endpoint] : [];

export const firstPosition: Position = [0, 0];

/** Negative if `one` comes first. */
export const comparePositions = (one: Position, other: Position): number =>
  one[0] - other[0] || one[1] - other[1];

export const endOf = (outbox: OutboxName, [sequence, , last]: DeliveryRef): Position =>
  outbox === 'events' ? [sequence, 0] : [sequence - 1, last + 1];
