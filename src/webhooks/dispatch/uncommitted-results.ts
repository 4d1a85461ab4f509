/** What the result journal has of a process that died: results that were not committed. */
import type { ResultJournal } from '../../store/delivery/result-journal.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import { findRow } from '../deliveries/delivery-transaction.ts';
import type { Feeds } from '../outboxes/feeds.ts';
import type { EndedAttempt } from './result-batcher.ts';

/** With their deliveries, which count as in flight from now on; those that were committed all the same are left out. */
export function uncommittedResults(
  store: DeliveryStore,
  feeds: Feeds,
  journal: ResultJournal,
): EndedAttempt[] {
  const results: EndedAttempt[] = [];
  for (const { deliveryId, endpointNo, place, attemptNo, ...result } of journal.uncommitted) {
    const delivery =
      place === undefined
        ? findRow(store.tables, deliveryId)
        : feeds.recover(endpointNo, { id: deliveryId, ...place });
    const isOpen = delivery?.state === 'pending' && delivery.attemptsMade + 1 === attemptNo;
    if (isOpen) results.push({ delivery, ...result });
  }
  return results;
}
