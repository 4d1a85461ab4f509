/**
 * Webhooks: the words that the dispatcher, the attempt worker, the endpoint book and the API
 * share. An endpoint is a receiver that a workspace has named; a delivery is one body on its way
 * to one endpoint; an attempt is one POST of that body.
 */
import type { EventKind } from './event.ts';

export type EndpointStatus = 'enabled' | 'disabled';

/** Why an endpoint is off: by a person, by its own 410, or after five days of nothing but failures. */
export type DisabledReason = 'by_hand' | 'gone' | 'failing';

export interface EndpointSecret {
  /** `whsec_…`, encrypted. */
  readonly sealed: string;
  /** Absent for the newest; older ones sign along until then. */
  readonly expiresAtMs?: number;
}

export interface EndpointRecord {
  /** Dense number from 1; never used twice. */
  readonly no: number;
  /** `whk_…` */
  readonly id: string;
  readonly workspaceNo: number;
  readonly url: string;
  readonly events: readonly (EventKind | '*')[];
  readonly description?: string;
  /** Scans in one POST at most, 1 to 100. */
  readonly maxBatch: number;
  /** Newest first. */
  readonly secrets: readonly EndpointSecret[];
  readonly status: EndpointStatus;
  readonly disabledReason?: DisabledReason;
  readonly disabledAtMs?: number;
  /** The newest sequences of the two outboxes when the endpoint was made or last enabled: nothing
   * at or before them is sent to it. */
  readonly firstEvent: number;
  readonly firstBlock: number;
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

/** What the attempt worker is handed for one POST. */
export interface AttemptTask {
  readonly deliveryNo: number;
  /** `dlv_…` */
  readonly deliveryId: string;
  /** `evt_…`: the `webhook-id`; of the first event where the body is an array. */
  readonly eventId: string;
  readonly kind: EventKind;
  /** From 1. */
  readonly attempt: number;
  readonly url: string;
  readonly body: Uint8Array;
  /** Opened, newest first. */
  readonly secrets: readonly string[];
}

/** What a worker sends with: the same in every task of a pool. */
export interface AttemptSettings {
  /** One deadline for a whole attempt, look-up and answer included. */
  readonly timeoutMs: number;
  /** CIDR blocks that are opened in spite of the deny lists. */
  readonly allowNetworks: readonly string[];
  /** The page for receivers, named in the User-Agent. */
  readonly docsUrl: string;
}

export interface AttemptResult {
  readonly deliveryNo: number;
  readonly attempt: AttemptRecord;
}

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'canceled';

/** Why a delivery died: all its attempts failed, the receiver answered 410, or its endpoint was switched off. */
export type DeadReason = 'exhausted' | 'gone' | 'endpoint_disabled';
