/**
 * What must be true of the stores of webhooks whenever a process opens them, whatever came before. `outstanding` is what
 * positions and backlogs say is still to be sent; everything else was answered, or has a row.
 */
import type { EventKind } from '../../../src/model/event.ts';
import type { EndpointRecord } from '../../../src/model/webhook.ts';
import {
  type LogKey,
  type OutboxName,
  type Position,
  stateCodes,
} from '../../../src/store/delivery/delivery.ts';
import { isFor } from '../../../src/webhooks/endpoints/endpoint-index.ts';
import { comparePositions } from '../../../src/webhooks/feeds/outbox-reader.ts';
import { scannedEntries } from '../bare-webhooks.ts';
import type { World } from './world.ts';

interface Entry {
  readonly outbox: OutboxName;
  readonly eventId: string;
  readonly kind: EventKind;
  readonly sequence: number;
  /** Of a block. */
  readonly entry: number;
}

const endOfEntry = ({ outbox, sequence, entry }: Entry): Position =>
  outbox === 'events' ? [sequence, 0] : [sequence - 1, entry + 1];

/** Everything in both outboxes, oldest first. */
function entriesOf(world: World): Entry[] {
  world.management.environment.refresh();
  const entries: Entry[] = [];
  for (const { sequence, id, kind } of world.outbox.after(0, 1_000_000)) {
    entries.push({ outbox: 'events', eventId: id, kind, sequence, entry: 0 });
  }
  for (const scan of scannedEntries(world.engine)) {
    entries.push({ outbox: 'scans', kind: 'qr.scanned', ...scan });
  }
  return entries;
}

/** @returns what is wrong */
export function check(world: World, mode: 'any time' | 'at the end'): string[] {
  world.tables.environment.refresh();
  const entries = entriesOf(world);
  const faults = [...rowFaults(world), ...statsFaults(world)];
  for (const endpoint of world.webhooks.endpoints.all()) {
    faults.push(...endpointFaults(world, endpoint, entries, mode));
  }
  return faults;
}

/** Events of an endpoint, by what became of them; without what a person sent again. Rows have their state. */
function knownOf(world: World, no: number) {
  const { tables, receiver, webhooks } = world;
  const faults: string[] = [];
  const [logged, succeeded, listed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const rows = new Map<string, string>();
  const log = { start: [no, ''] as LogKey, end: [no + 1, ''] as LogKey };
  for (const { value } of tables.log.range(log)) {
    const [id, , eventIds] = value;
    if (!world.sentByHand.has(id)) for (const eventId of eventIds) logged.add(eventId);
    if (!receiver.hasSuccess(id)) faults.push(`${id} of ${no} is delivered, and was not answered`);
  }
  for (const { key, value } of tables.rows.range({})) {
    if (value.endpointNo !== no || world.sentByHand.has(key)) continue;
    for (const eventId of value.eventIds) rows.set(eventId, value.state);
  }
  for (const [id, { task, text }] of receiver.received) {
    if (task.endpointNo !== no || !receiver.hasSuccess(id)) continue;
    const parsed: unknown = JSON.parse(text);
    for (const one of Array.isArray(parsed) ? parsed : [parsed]) succeeded.add(String(one.id));
  }
  const list = webhooks.deliveries.list(no, { limit: 1_000_000 }).data;
  for (const { id, eventIds } of list) {
    if (!world.sentByHand.has(id)) for (const eventId of eventIds) listed.add(eventId);
  }
  if (new Set(list.map(({ id }) => id)).size !== list.length) faults.push(`${no}: listed twice`);
  return { logged, rows, succeeded, listed, faults };
}

function endpointFaults(
  world: World,
  endpoint: EndpointRecord,
  entries: readonly Entry[],
  mode: 'any time' | 'at the end',
): string[] {
  const { tables, webhooks } = world;
  const { no } = endpoint;
  const { logged, rows, succeeded, listed, faults } = knownOf(world, no);
  const stored = tables.backlogs.get(no) ?? {};
  for (const entry of entries) {
    const { outbox, eventId, kind, sequence } = entry;
    if (!isFor(endpoint, kind, sequence)) continue;
    const backlog = stored[outbox];
    const read = tables.positions.get(outbox) ?? [0, 0];
    const to = backlog?.to ?? read;
    const isOpen = backlog?.open.some(
      ([at, first, last]) =>
        at === sequence && (outbox === 'events' || (first <= entry.entry && entry.entry <= last)),
    );
    const outstanding = isOpen === true || comparePositions(endOfEntry(entry), to) > 0;
    const name = `${outbox} ${sequence}.${entry.entry} ${eventId} for ${no}`;
    const row = rows.get(eventId);
    if (outstanding && mode === 'at the end') faults.push(`${name} is never sent`);
    if (outstanding && row !== undefined)
      faults.push(`${name} is outstanding, and has a ${row} row`);
    if (outstanding && logged.has(eventId)) faults.push(`${name} is outstanding, and delivered`);
    if (row !== undefined && logged.has(eventId)) faults.push(`${name} is delivered, and ${row}`);
    if (!outstanding && row === undefined) {
      if (world.isLogWhole ? !logged.has(eventId) : !succeeded.has(eventId)) {
        faults.push(`${name} is lost: settled, and neither delivered nor dead`);
      }
    }
    const isRead = comparePositions(endOfEntry(entry), read) <= 0;
    if (outstanding && isRead && !listed.has(eventId)) {
      faults.push(`${name} is outstanding, and not listed`);
    }
    const floor = outbox === 'events' ? webhooks.deliveredEvent : world.deliveredBlock;
    if (outstanding && sequence <= floor) faults.push(`${name} may expire, at ${floor}`);
  }
  return faults;
}

function rowFaults({ tables, receiver, webhooks }: World): string[] {
  const faults: string[] = [];
  const wheel = new Map<number, number>();
  for (const [bucket, no] of tables.wheel.keys({})) if (!wheel.has(no)) wheel.set(no, bucket);
  const count = { pending: 0, dead: 0, canceled: 0 };
  for (const { key: id, value } of tables.rows.range({})) {
    const { endpointNo, workspaceNo, state, dueMs, deadAtMs, deadReason, expiresMs } = value;
    const answers = receiver.received.get(id)?.answers ?? [];
    const failures = answers.filter(({ status }) => status >= 300);
    if (deadReason === 'exhausted' && failures.length === 0) {
      faults.push(`${id} is exhausted, and was never refused`);
    }
    if (deadReason === 'gone' && !answers.some(({ status }) => status === 410)) {
      faults.push(`${id} is gone, and nobody said so`);
    }
    const endpoint = webhooks.endpoints.byNo(endpointNo);
    if (deadReason === 'endpoint_disabled' && endpoint?.pauses === undefined && endpoint) {
      faults.push(`${id} is dead because of a pause that never was`);
    }
    count[state] += 1;
    if (!tables.states.has([endpointNo, stateCodes[state], id])) faults.push(`${id} is not listed`);
    if (state === 'pending') {
      if (!tables.due.has([endpointNo, dueMs, id])) faults.push(`${id} waits, and is never due`);
      const earliest = wheel.get(endpointNo) ?? Infinity;
      if (earliest > Math.floor(dueMs / 100)) faults.push(`${id} is not on the wheel`);
    } else if (!tables.expiry.has([expiresMs, id])) faults.push(`${id} never expires`);
    if (state === 'dead' && !tables.dead.has([workspaceNo, deadAtMs, id])) {
      faults.push(`${id} is dead, and no dead letter`);
    }
  }
  const counted = [
    ['states', tables.states.count({}), count.pending + count.dead + count.canceled],
    ['due', tables.due.count({}), count.pending],
    ['dead_letters', tables.dead.count({}), count.dead],
    ['expiries', tables.expiry.count({}), count.dead + count.canceled],
  ] as const;
  for (const [name, is, expected] of counted) {
    if (is !== expected) faults.push(`${name} has ${is} entries, expected ${expected}`);
  }
  return faults;
}

function statsFaults({ tables }: World): string[] {
  const faults: string[] = [];
  const counts = new Map<number, Record<string, number>>();
  const add = (no: number, state: string, by = 1): void => {
    const of = counts.get(no) ?? { pending: 0, delivered: 0, dead: 0, canceled: 0 };
    of[state] = (of[state] ?? 0) + by;
    counts.set(no, of);
  };
  for (const { value } of tables.rows.range({})) add(value.endpointNo, value.state);
  for (const { key, value } of tables.log.range({})) {
    add(key[0], 'delivered');
    if (value[0] !== key[1])
      faults.push(`an entry of the log of ${key[0]} is not what its key says`);
  }
  for (const { key, value } of tables.stats.range({})) {
    const expected = JSON.stringify(counts.get(key) ?? {});
    counts.delete(key);
    const is = JSON.stringify(value.counts);
    if (is !== expected) faults.push(`${key} has counts ${is}, expected ${expected}`);
  }
  for (const no of counts.keys()) faults.push(`${no} has deliveries, and no counts`);
  return faults;
}

/**
 * First attempts of an endpoint are in the order of each outbox; of a block in any. An event that was sent in a list before its
 * process died may come again alone. @param except ids that were replayed
 */
export function orderFaults(world: World, except: ReadonlySet<string>): string[] {
  const places = new Map(entriesOf(world).map((entry) => [entry.eventId, entry]));
  const newest = new Map<string, Entry>();
  const listed = new Set<string>();
  const faults: string[] = [];
  const received = [...world.receiver.received].toSorted(([, a], [, b]) => a.order - b.order);
  for (const [id, { task, text }] of received) {
    const place = places.get(task.eventId);
    if (text.startsWith('[')) {
      for (const event of JSON.parse(text)) listed.add(`${task.endpointNo} ${event.id}`);
    }
    const wasListed = listed.has(`${task.endpointNo} ${task.eventId}`);
    if (place === undefined || wasListed || except.has(id) || world.sentByHand.has(id)) continue;
    const key = `${task.endpointNo} ${place.outbox}`;
    const before = newest.get(key);
    if (before && before.sequence > place.sequence) {
      faults.push(
        `${id} of ${key}: ${place.sequence}.${place.entry} is sent after ${before.sequence}.${before.entry}`,
      );
    }
    newest.set(key, place);
  }
  return faults;
}
