/** Webhooks: endpoints that a workspace has registered, deliveries of one body to one of them, attempts to POST it. */
import type { EventKind } from './event.ts';
import type { EndpointNo, WorkspaceNo } from './numbers.ts';

export type EndpointStatus = 'enabled' | 'disabled';

/** By a person, a 410 of the endpoint, five days of failures only, or lost signing keys. */
export type DisabledReason = 'by_hand' | 'gone' | 'failing' | 'secret_lost';

export interface EndpointSecret {
  /** `whsec_…`, encrypted. */
  readonly encrypted: string;
  /** Absent for the newest; older secrets also sign until then. */
  readonly expiresAtMs?: number;
}

export interface OutboxEnds {
  readonly event: number;
  readonly block: number;
  /** In a cluster: the time, because each machine has its own block numbers. */
  readonly atMs?: number;
}

export interface EndpointPause {
  readonly from: OutboxEnds;
  readonly to?: OutboxEnds;
}

export interface EndpointRecord {
  /** Dense, from 1; never reused. */
  readonly no: EndpointNo;
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly url: string;
  readonly events: readonly (EventKind | '*')[];
  readonly description?: string;
  /** Scans per POST, 1 to 100. */
  readonly maxBatch: number;
  /** Earlier values, for blocks up to `upTo`, oldest first: blocks that are read again after a crash make the same lists. */
  readonly batches?: ReadonlyArray<{ readonly upTo: number; readonly maxBatch: number }>;
  readonly secrets: readonly EndpointSecret[];
  readonly status: EndpointStatus;
  readonly disabledReason?: DisabledReason;
  readonly disabledAtMs?: number;
  /** Sequence numbers of the outboxes at its creation: later ones are sent to it. */
  readonly firstEvent: number;
  readonly firstBlock: number;
  /** In a cluster: the machine whose block numbers these are. */
  readonly core?: string;
  /** The same for kinds that were added later. */
  readonly since?: Readonly<Partial<Record<EventKind, OutboxEnds>>>;
  /** Times when it was disabled, oldest first: nothing after `from` up to `to` is sent. Without `to` it is disabled now. */
  readonly pauses?: readonly EndpointPause[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly createdBy: string;
}

export type FailureClass =
  | 'status'
  | 'timeout'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'reset'
  | 'blocked_ip'
  | 'redirect'
  | 'protocol'
  | 'unknown';

/** Without a failure class, the attempt succeeded with a 2xx status. */
export interface AttemptRecord {
  readonly atMs: number;
  readonly durationMs: number;
  readonly remoteIp?: string;
  readonly status?: number;
  readonly failure?: FailureClass;
  /** The first 4 KB of the answer. */
  readonly answer?: string;
  readonly retryAfterMs?: number;
}

export interface AttemptTask {
  readonly deliveryId: string;
  /** Attempts of an endpoint are ordered and bounded; undefined = independent. */
  readonly endpointNo: EndpointNo | undefined;
  /** `evt_…`: the `webhook-id`; for an array that of its first event, or in a cluster of the array. */
  readonly eventId: string;
  readonly kind: EventKind;
  readonly attempt: number;
  readonly url: string;
  readonly body: string;
  /** Decrypted, newest first. */
  readonly secrets: readonly string[];
}

/** The same in every task of a pool. */
export interface AttemptSettings {
  /** Open connections of a thread, unless more attempts run. Default: 1,000. */
  readonly connectionsMax?: number;
  /** Deadline of an attempt, including name look-up and answer. */
  readonly timeoutMs: number;
  /** CIDR blocks that are allowed in spite of the deny lists. */
  readonly allowNetworks: readonly string[];
  readonly docsUrl: string;
}

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'canceled';

/** All attempts failed, the receiver answered 410, or the endpoint was disabled. */
export type DeadReason = 'exhausted' | 'gone' | 'endpoint_disabled';
