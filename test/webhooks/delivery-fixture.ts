import { sourceId } from '../../src/model/ids.ts';
import { toWheelMs } from '../../src/model/wheel-time.ts';
import { type Delivery, freshDelivery } from '../../src/webhooks/deliveries/delivery.ts';

/** The event with a number, of some second. */
const eventIdOf = (no: number): string => `evt_1000000000${String(no).padStart(10, '0')}`;

/** The number of a delivery's event. @param id of the delivery */
export const numberOf = (id: string): number => Number(sourceId('evt', id, 1).slice(-10));

/** A delivery as the outbox of events has it. @param no of the event */
export const deliveryOf = (no: number, dueMs = 0, bytes = 10): Delivery =>
  freshDelivery(
    {
      endpointNo: 1,
      workspaceNo: 1,
      kind: 'qr.created',
      eventIds: [eventIdOf(no)],
      body: 'x'.repeat(bytes),
    },
    { outbox: 'events', ref: [no, 0, 0, 'one'] },
    toWheelMs(dueMs),
  );
