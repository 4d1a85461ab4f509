import { toWheelMs } from '../../src/model/wheel-time.ts';
import type { Delivery } from '../../src/webhooks/deliveries/delivery-transaction.ts';

/** A pending delivery as it is created. */
export const deliveryOf = (no: number, dueMs = 0, bytes = 10): Delivery => ({
  no,
  id: `dlv_${no}`,
  endpointNo: 1,
  workspaceNo: 1,
  kind: 'qr.created',
  eventIds: [`evt_${no}`],
  state: 'pending',
  createdAtMs: 1,
  dueMs: toWheelMs(dueMs),
  tries: 0,
  attemptsMade: 0,
  attempts: [],
  deadAtMs: 0,
  deadReason: '',
  expiresMs: toWheelMs(0),
  body: new Uint8Array(bytes),
});
