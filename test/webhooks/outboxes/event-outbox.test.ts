/** Deliveries of the outbox of events: the same, whichever way they are read. */
import { getRandomValues } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EventKind } from '../../../src/model/event.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { Outbox } from '../../../src/outbox/outbox.ts';
import { WheelClock } from '../../../src/webhooks/deliveries/retry-wheel.ts';
import { EventOutbox } from '../../../src/webhooks/outboxes/event-outbox.ts';
import { isFor } from '../../../src/webhooks/endpoints/endpoint-index.ts';
import { firstPosition } from '../../../src/webhooks/outboxes/outbox-reader.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { endpointOf, expectSame, fixed, readAll } from './reader-checks.ts';

interface Appended {
  readonly workspaceNo: number;
  readonly kind: EventKind;
}

function openOutbox() {
  const temporary = temporaryManagement();
  const clock = new TestClock();
  const ids = createIdSource(clock, getRandomValues);
  const outbox = new Outbox(temporary.store, ids, clock);
  const readerOf = (from: Outbox) => new EventOutbox(from, new WheelClock(clock, clock, undefined));
  const reader = readerOf(outbox);
  const reopen = async () => {
    await temporary.reopen();
    return readerOf(new Outbox(temporary.store, ids, clock));
  };
  const append = (events: readonly Appended[]): void => {
    temporary.store.environment.transactionSync(() => {
      for (const { kind, workspaceNo } of events) {
        outbox.append(kind, workspaceNo, { text: 'äöü' });
        clock.move(3);
      }
    });
    reader.refresh();
  };
  return { temporary, clock, reopen, reader, append };
}

const own = { workspaceNo: 1, kind: 'qr.created' } as const;
const others = { workspaceNo: 2, kind: 'qr.created' } as const;
const times = (count: number, event: Appended): Appended[] =>
  Array.from({ length: count }, () => event);

it('makes the same deliveries of the same events, whatever the events and the pages', () => {
  const { reader, append, clock } = openOutbox();
  const kind = fc.constantFrom<EventKind>('qr.created', 'qr.deleted', 'member.joined');
  const event = fc.record({ workspaceNo: fc.constantFrom(1, 1, 2), kind });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      (events, page) => {
        append(events);
        const endpoint = endpointOf({ events: ['qr.created', 'member.joined'] });
        const before = expectSame(reader, endpoint, [page, 3]);
        clock.move(60_000);
        expect(expectSame(reader, endpoint, [1]).map(fixed)).toEqual(before.map(fixed));
      },
    ),
    { numRuns: 12 },
  );
});

it('reads for many at once what it reads for each', () => {
  const { reader, append } = openOutbox();
  append([own, others, { workspaceNo: 1, kind: 'qr.deleted' }, ...times(20, own), others]);
  const endpoints = [
    endpointOf({ no: 1 }),
    endpointOf({ no: 2, events: ['qr.deleted'] }),
    endpointOf({ no: 3, workspaceNo: 2 }),
    endpointOf({ no: 4, firstEvent: 10 }),
  ];
  const listenersOf = (workspaceNo: number, kind: EventKind, sequence: number) =>
    endpoints.filter((one) => one.workspaceNo === workspaceNo && isFor(one, kind, sequence));
  for (const deliveriesMax of [1, 4, 1_000]) {
    const all = readAll((from) => reader.read(from, listenersOf, { deliveriesMax }));
    for (const endpoint of endpoints) {
      const its = all.filter(({ endpointNo }) => endpointNo === endpoint.no);
      expect(its.map(fixed)).toEqual(expectSame(reader, endpoint, [2]).map(fixed));
    }
  }
});

it('goes on over stretches without a delivery, many readings long', () => {
  const { reader, append } = openOutbox();
  append([own, ...times(1_700, others), own, ...times(1_100, { ...own, kind: 'qr.deleted' }), own]);
  const endpoint = endpointOf({ events: ['qr.created'] });
  expect(expectSame(reader, endpoint, [1, 10])).toHaveLength(3);
});

it('passes over a damaged event, however it is read', async () => {
  const { temporary, append, reopen } = openOutbox();
  append(times(6, own));
  await temporary.store.close();
  const stored = new StoredBytes(join(temporary.folder, 'management.mdb'));
  stored.flip('events', stored.keys('events')[2]!, 99);
  await stored.close();
  const reader = await reopen();
  const places = expectSame(reader, endpointOf(), [1, 2, 6]).map(
    ({ outboxRef }) => outboxRef!.ref[0],
  );
  expect(places).toEqual([1, 2, 4, 5, 6]);
  expect(reader.at(endpointOf(), [3, 0, 0, 'one'])).toBeUndefined();
  expect(reader.readFor(endpointOf(), firstPosition, { deliveriesMax: 9 }).hasMore).toBe(false);
});
