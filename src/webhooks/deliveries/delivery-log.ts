/**
 * The log of what was delivered: the newest of each endpoint, in pages, ascending by id.
 *
 *   [endpointNo, first id, last id, entries]  ->  [ entry, entry, ... ]
 *
 * A transaction adds what a window delivered as a page or a few, or to the newest page while that is small; so an
 * endpoint costs a write for each window, or for 32 deliveries in it. What was delivered late, by a retry, is merged into
 * the page where its id belongs. Whole pages are pruned, the oldest first, while the others hold enough. The key says what
 * a page has, so that none is read for it.
 */
import { unpackAttempt } from '../../model/attempt-record.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import type { DeliveryTables, LogKey, PackedDelivered } from '../../store/delivery/delivery.ts';
import { afterAll, type Delivery, noTime, pendingDelivery } from './delivery.ts';

type LogTable = DeliveryTables['log'];
type Page = readonly PackedDelivered[];

/** A page with fewer gets the next entries too: writing it again costs as much as writing one entry. */
const smallPageMax = 12;
/** Entries of a page, and bytes of their bodies but for the last: what reading one of them reads. */
const pageMax = 32;
/** Entries of a page that others were merged into, so that a few late ones do not split it. */
const mergedMax = 64;
const pageBytesMax = 65_536;
/** Pages that one transaction prunes of an endpoint: more than it adds. */
const prunedMax = 2_048;

const idOf = ([id]: PackedDelivered): string => id;
const bodyOf = ([, , , , , body]: PackedDelivered): string => body;
const byId = (one: PackedDelivered, other: PackedDelivered): number =>
  idOf(one) < idOf(other) ? -1 : 1;
const passOver = (): void => undefined;

/** Adds entries of an endpoint, at most `keptMax`. Inside a transaction. @returns by how many the log has grown */
export function addToLog(
  log: LogTable,
  endpointNo: EndpointNo,
  added: readonly PackedDelivered[],
  keptMax: number,
): number {
  const entries = added.toSorted(byId);
  const newest = newestPage(log, endpointNo);
  const lastId = newest?.[2] ?? '';
  const behind = entries.filter((entry) => idOf(entry) > lastId).slice(-keptMax);
  const late = entries.filter((entry) => idOf(entry) <= lastId);
  let count = 0;
  // Of each page once, however many come late: after an outage all do.
  const byPage = Map.groupBy(late, (entry) => newestPage(log, endpointNo, idOf(entry))?.[1]);
  for (const [firstId, group] of byPage) {
    const page = firstId === undefined ? undefined : newestPage(log, endpointNo, firstId);
    count += page === undefined ? put(log, endpointNo, group) : merge(log, page, group);
  }
  return count + append(log, endpointNo, behind);
}

function append(log: LogTable, endpointNo: EndpointNo, entries: Page): number {
  const newest = newestPage(log, endpointNo);
  const isSmall = newest !== undefined && newest[3] < smallPageMax && entries.length < smallPageMax;
  return isSmall && entries.length > 0
    ? merge(log, newest, entries)
    : put(log, endpointNo, entries);
}

/** Puts entries among those of a page; one that is there already, sent again after a crash, is replaced. */
function merge(log: LogTable, key: LogKey, entries: Page): number {
  const merged = new Map([...pageOf(log, key), ...entries].map((entry) => [idOf(entry), entry]));
  log.remove(key);
  const page = [...merged.values()].toSorted(byId);
  return put(log, key[0], page, mergedMax) - key[3];
}

/** @returns how many there are */
function put(log: LogTable, endpointNo: EndpointNo, entries: Page, entriesMax = pageMax): number {
  for (let from = 0; from < entries.length;) {
    let to = from;
    for (
      let bytes = 0;
      to < entries.length && to - from < entriesMax && bytes < pageBytesMax;
      to++
    ) {
      bytes += bodyOf(entries[to]!).length;
    }
    const page = entries.slice(from, to);
    log.put([endpointNo, idOf(page[0]!), idOf(page.at(-1)!), page.length], page);
    from = to;
  }
  return entries.length;
}

/** A damaged one counts as empty. */
const pageOf = (log: LogTable, key: LogKey): Page => log.get(key, () => []) ?? [];

/** The newest page, or the newest that begins with `id` or before it. */
function newestPage(log: LogTable, endpointNo: EndpointNo, id = afterAll): LogKey | undefined {
  const start: LogKey = [endpointNo, id, afterAll, 0];
  const end: LogKey = [endpointNo, '', '', 0];
  for (const key of log.keys({ start, end, reverse: true, limit: 1 })) return key;
  return undefined;
}

/** Prunes whole pages while the others hold `keptMax`. Inside a transaction. @returns how many entries went */
export function pruneLog(
  log: LogTable,
  endpointNo: EndpointNo,
  count: number,
  keptMax: number,
): number {
  const keys: LogKey[] = [];
  let pruned = 0;
  for (const key of log.keys({ ...pagesOf(endpointNo), limit: prunedMax })) {
    if (count - pruned - key[3] < keptMax) break;
    keys.push(key);
    pruned += key[3];
  }
  for (const key of keys) log.remove(key);
  return pruned;
}

/** Removes up to `limit` pages of a deleted endpoint. @returns how many pages went */
export function removePages(log: LogTable, endpointNo: EndpointNo, limit: number): number {
  const keys = [...log.keys({ ...pagesOf(endpointNo), limit })];
  for (const key of keys) log.remove(key);
  return keys.length;
}

/** How many entries an endpoint has. */
export function countLog(log: LogTable, endpointNo: EndpointNo): number {
  let count = 0;
  for (const key of log.keys(pagesOf(endpointNo))) count += key[3];
  return count;
}

/** Newest first, those before `beforeId`. */
export function* logEntries(
  log: LogTable,
  endpointNo: EndpointNo,
  beforeId = afterAll,
): Generator<PackedDelivered> {
  const start: LogKey = [endpointNo, beforeId, '', 0];
  const end: LogKey = [endpointNo, '', '', 0];
  for (const { value } of log.range({ start, end, reverse: true }, passOver)) {
    for (const entry of value.toReversed()) if (idOf(entry) < beforeId) yield entry;
  }
}

export function findLogged(
  log: LogTable,
  endpointNo: EndpointNo,
  id: string,
): PackedDelivered | undefined {
  const key = newestPage(log, endpointNo, id);
  return key && pageOf(log, key).find((entry) => idOf(entry) === id);
}

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
    attempts: attempts.map(unpackAttempt),
  };
}

const pagesOf = (endpointNo: EndpointNo): { start: LogKey; end: LogKey } => ({
  start: [endpointNo, '', '', 0],
  end: [endpointNo + 1, '', '', 0],
});
