import { getRandomValues } from 'node:crypto';
import { expect, test } from 'vitest';
import { createIdSource } from '../../src/model/ids.ts';
import { Outbox } from '../../src/webhooks/outbox.ts';
import { temporaryManagement } from '../store/temporary-management.ts';
import { TestClock } from '../support/fakes/test-clock.ts';

function openOutbox() {
  const temporary = temporaryManagement();
  const clock = new TestClock();
  const outbox = new Outbox(temporary.store, createIdSource(clock, getRandomValues), clock);
  const append = async (count = 1): Promise<void> => {
    await temporary.store.environment.transaction(() => {
      for (let left = count; left > 0; left--) outbox.append('member.joined', 1, {});
    });
  };
  return { temporary, clock, outbox, append };
}

test('expires what is old and delivered, a batch at a time, and sequence numbers continue', async () => {
  const { temporary, outbox, append, clock } = openOutbox();
  await append(1_010);
  clock.move(31 * 86_400_000);
  await append();
  expect(await outbox.expire(1_008)).toBe(1_000);
  expect(await outbox.expire(1_008)).toBe(8);
  expect(await outbox.expire(1_008)).toBe(0);
  expect(outbox.newest(1, undefined, 100).map((e) => e.sequence)).toEqual([1_011, 1_010, 1_009]);
  expect(await outbox.expire(1_011)).toBe(2);
  await temporary.reopen();
  const reopened = new Outbox(temporary.store, createIdSource(clock, getRandomValues), clock);
  expect(reopened.after(0, 10).map((e) => e.sequence)).toEqual([1_011]);
  expect(reopened.lastSequence).toBe(1_011);
});

test('an event dated by a clock that ran a year ahead does not delay the expiry', async () => {
  const { outbox, append, clock } = openOutbox();
  await append();
  clock.move(365 * 86_400_000);
  await append();
  clock.move(-365 * 86_400_000);
  await append(2);
  clock.move(31 * 86_400_000);
  await append();
  expect(await outbox.expire(5)).toBe(4);
  expect(outbox.newest(1, undefined, 100).map((e) => e.sequence)).toEqual([5]);
});
