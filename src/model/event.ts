/** Events: the eleven kinds of the specification, four of watches, and their envelope. */
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

/** Replaces an address that the reader may not see; the name never resolves (RFC 2606). */
export const hiddenEmail = 'hidden@hidden.invalid';

export interface EventEnvelope {
  /** `evt_…`: the receiver's idempotency key. */
  readonly id: string;
  readonly event: EventKind;
  /** ISO 8601; in QR code events only, as specified. */
  readonly createdAt?: string;
  readonly data: EventData;
}
