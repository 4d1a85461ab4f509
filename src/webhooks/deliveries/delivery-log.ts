/** The log of delivered deliveries: the newest of each endpoint, by id. */
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import type { DeliveryTables, LogKey, PackedDelivered } from '../../store/delivery/delivery.ts';
import { afterAll, type Delivery, noTime, pendingDelivery } from './delivery.ts';

type LogTable = DeliveryTables['log'];

/** Entries of an endpoint that one transaction prunes: more than it adds. */
const prunedMax = 8_192;

const idOf = ([id]: PackedDelivered): string => id;
const byId = (one: PackedDelivered, other: PackedDelivered): number =>
  idOf(one) < idOf(other) ? -1 : 1;

/** Adds the newest `keptMax` entries, replacing duplicates, inside a transaction. @returns how many are new */
export function addToLog(
  log: LogTable,
  endpointNo: EndpointNo,
  added: readonly PackedDelivered[],
  keptMax: number,
): number {
  const [newest] = log.keys({ ...reversed(endpointNo), limit: 1 });
  const lastId = newest?.[1] ?? '';
  let count = 0;
  for (const entry of added.toSorted(byId).slice(-keptMax)) {
    const key: LogKey = [endpointNo, idOf(entry)];
    if (idOf(entry) > lastId || !log.has(key)) count += 1;
    log.put(key, entry);
  }
  return count;
}

/** Removes up to `limit` of the oldest entries. Inside a transaction. @returns how many */
export function pruneLog(log: LogTable, endpointNo: EndpointNo, limit: number): number {
  const keys = [...log.keys({ ...entriesOf(endpointNo), limit: Math.min(limit, prunedMax) })];
  for (const key of keys) log.remove(key);
  return keys.length;
}

export const countLog = (log: LogTable, endpointNo: EndpointNo): number =>
  log.count(entriesOf(endpointNo));

/** Entries before `beforeId`, newest first, without damaged ones. */
export function* logEntries(
  log: LogTable,
  endpointNo: EndpointNo,
  beforeId = afterAll,
): Generator<PackedDelivered> {
  for (const { key, value } of log.range(reversed(endpointNo, beforeId), () => undefined)) {
    if (key[1] < beforeId) yield value;
  }
}

export const findLogged = (
  log: LogTable,
  endpointNo: EndpointNo,
  id: string,
): PackedDelivered | undefined => log.get([endpointNo, id], () => undefined);

export function unpackDelivered(
  [id, kind, eventIds, attemptsMade, attempts, body]: PackedDelivered,
  endpointNo: EndpointNo,
  workspaceNo: WorkspaceNo,
): Delivery {
  const created = { endpointNo, workspaceNo, kind, eventIds, body };
  return {
    ...pendingDelivery(id, created, noTime),
    state: 'delivered',
    attemptsMade,
    attempts,
  };
}

const entriesOf = (endpointNo: EndpointNo): { start: LogKey; end: LogKey } => ({
  start: [endpointNo, ''],
  end: [endpointNo + 1, ''],
});

const reversed = (
  endpointNo: EndpointNo,
  beforeId = afterAll,
): { start: LogKey; end: LogKey; reverse: true } => ({
  start: [endpointNo, beforeId],
  end: [endpointNo, ''],
  reverse: true,
});
