/**
 * Events: the eleven kinds of the specification, four of watches, and the envelope each travels in.
 * `createdAt` is present in QR code events only, as specified.
 */
export const eventKinds = [
  'qr.created',
  'qr.updated',
  'qr.deleted',
  'qr.scanned',
  'qr.silent',
  'qr.spiked',
  'qr.target_failed',
  'qr.target_recovered',
  'campaign.created',
  'campaign.ended',
  'subscription.created',
  'subscription.updated',
  'subscription.canceled',
  'member.invited',
  'member.joined',
] as const;
export type EventKind = (typeof eventKinds)[number];

export type EventData = Readonly<Record<string, unknown>>;

/** In place of an address that the reader may not see; a name that never resolves (RFC 2606). */
export const hiddenEmail = 'hidden@hidden.invalid';

export interface EventEnvelope {
  /** `evt_…`: the receiver's idempotency key. */
  readonly id: string;
  readonly event: EventKind;
  /** ISO 8601, QR code events only. */
  readonly createdAt?: string;
  readonly data: EventData;
}
