/**
 * Webhooks: the types that the dispatcher, the attempt worker, the endpoints and the API share. An
 * endpoint is a receiver that a workspace has registered; a delivery is one body sent to one endpoint;
 * an attempt is one POST of that body.
 */
import type { EventKind } from './event.ts';
import type { EndpointNo, WorkspaceNo } from './numbers.ts';

export type EndpointStatus = 'enabled' | 'disabled';

/** Why an endpoint is disabled: by a person, its own 410, five days of failures only, or lost signing keys. */
export type DisabledReason = 'by_hand' | 'gone' | 'failing' | 'secret_lost';

export interface EndpointSecret {
  /** `whsec_…`, encrypted. */
  readonly sealed: string;
  /** Absent for the newest; older ones sign along until then. */
  readonly expiresAtMs?: number;
}

/** The newest sequences of the two outboxes at a time. */
export interface OutboxEnds {
  readonly event: number;
  readonly block: number;
  /** In a cluster: the time, because each machine has block numbers of its own. */
  readonly atMs?: number;
}

export interface EndpointPause {
  readonly from: OutboxEnds;
  readonly to?: OutboxEnds;
}

export interface EndpointRecord {
  /** Dense number from 1; never used twice. */
  readonly no: EndpointNo;
  /** `whk_…` */
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly url: string;
  readonly events: readonly (EventKind | '*')[];
  readonly description?: string;
  /** Scans in one POST at most, 1 to 100. */
  readonly maxBatch: number;
  /** What it was for blocks up to `upTo`, oldest first: what is read again after a crash makes the same lists. */
  readonly batches?: ReadonlyArray<{ readonly upTo: number; readonly maxBatch: number }>;
  /** Newest first. */
  readonly secrets: readonly EndpointSecret[];
  readonly status: EndpointStatus;
  readonly disabledReason?: DisabledReason;
  readonly disabledAtMs?: number;
  /** The newest sequences of the two outboxes when the endpoint was created: only what comes after them is sent to it. */
  readonly firstEvent: number;
  readonly firstBlock: number;
  /** In a cluster: the machine whose block numbers these are. */
  readonly core?: string;
  /** The same for kinds that it subscribed to later. */
  readonly since?: Readonly<Partial<Record<EventKind, OutboxEnds>>>;
  /** While it was disabled, oldest first: nothing after `from` and up to `to` is sent to it. Without `to` it is disabled now. */
  readonly pauses?: readonly EndpointPause[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** `usr_…` */
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

/** One POST and how it ended: with a 2xx status and no failure class, it succeeded. */
export interface AttemptRecord {
  readonly atMs: number;
  readonly durationMs: number;
  readonly remoteIp?: string;
  readonly status?: number;
  readonly failure?: FailureClass;
  /** The answer's beginning, at most 4 KB of text. */
  readonly answer?: string;
  /** What `Retry-After` asked for. */
  readonly retryAfterMs?: number;
}

/** One POST. */
export interface AttemptTask {
  /** `dlv_…` */
  readonly deliveryId: string;
  /** Its attempts go in order, with a bound; undefined = apart from them. */
  readonly endpointNo: EndpointNo | undefined;
  /** `evt_…`: the `webhook-id`; where the body is an array, of the first event, or in a cluster of the array. */
  readonly eventId: string;
  readonly kind: EventKind;
  /** From 1. */
  readonly attempt: number;
  readonly url: string;
  readonly body: string;
  /** Decrypted, newest first. */
  readonly secrets: readonly string[];
}

/** The same for the thread that sends. */
export interface Attempt extends Omit<AttemptTask, 'body'> {
  readonly body: Uint8Array;
}

/** Settings of a worker: the same in every task of a pool. */
export interface AttemptSettings {
  /** Connections open to receivers, of one thread; more only while more attempts run. Default: 1,000. */
  readonly connectionsMax?: number;
  /** One deadline for a whole attempt, name lookup and answer included. */
  readonly timeoutMs: number;
  /** CIDR blocks that are allowed in spite of the deny lists. */
  readonly allowNetworks: readonly string[];
  /** The page for receivers, named in the User-Agent. */
  readonly docsUrl: string;
}

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'canceled';

/** Why a delivery died: all its attempts failed, the receiver answered 410, or its endpoint was disabled. */
export type DeadReason = 'exhausted' | 'gone' | 'endpoint_disabled';
