/** A damaged record of the delivery store, or of an outbox, stops nothing but itself. */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { StoredBytes } from '../support/stored-bytes.ts';
import { type Harness, openHarness } from './webhooks-harness.ts';

/** Flips a bit of the first record of a table. */
function damage(harness: Harness, file: 'delivery' | 'management', name: RegExp): void {
  const stored = new StoredBytes(join(harness.app.dataDir, `${file}.mdb`));
  onTestFinished(async () => await stored.close());
  const table = stored.tables.find((one) => name.test(one))!;
  stored.flip(table, stored.keys(table)[0]!, 77);
  harness.app.store.environment.refresh();
}

const sentIds = (harness: Harness): string[] =>
  harness.sender.sent.map(({ eventId }) => eventId).toSorted();

it('removes a damaged delivery from the queue and sends the others', async () => {
  const harness = await openHarness();
  const endpoint = await harness.endpoint();
  harness.sender.answer = () => 500;
  const [, ...others] = await harness.happen(4);
  await harness.crash(() => damage(harness, 'delivery', /^rows$/));
  await harness.pass(6_000, 1_000);
  expect(sentIds(harness)).toEqual(others.toSorted());
  expect(harness.webhooks.deliveries.figures(endpoint.no).waiting).toBe(0);
  expect(harness.webhooks.deliveries.list(endpoint.no, { limit: 10 }).data).toHaveLength(3);
  expect(harness.app.logLines.join('')).toContain(
    'damaged webhook deliveries removed from the queue',
  );
  const [next] = await harness.happen();
  expect(sentIds(harness)).toContain(next);
});

it.each([
  // The counts come back, an entry of the log does not.
  [/^endpoint_stats$/, 5],
  [/^delivered$/, 5],
])('sends and counts on where a record of %s is damaged', async (table, counted) => {
  const harness = await openHarness();
  const { no } = await harness.endpoint();
  await harness.happen(3);
  await harness.crash(() => damage(harness, 'delivery', table));
  await harness.happen(2);
  expect(harness.sender.sent).toHaveLength(2);
  const { deliveries } = harness.webhooks;
  expect(deliveries.count(no, 'delivered')).toBe(counted);
  const shown = deliveries.list(no, { limit: 50 }).data;
  expect(shown).toHaveLength(String(table).includes('delivered') ? 4 : 5);
});

it('finds a damaged position again, behind what waits for a retry: nothing is doubled or left out', async () => {
  const harness = await openHarness();
  await harness.endpoint();
  await harness.happen(2);
  harness.sender.answer = () => 500;
  const failed = await harness.happen(2);
  await harness.stop();
  const missed = await harness.emit(3);
  await harness.crash(() => damage(harness, 'delivery', /^positions$/));
  await harness.settle();
  expect(sentIds(harness)).toEqual(missed.toSorted());
  await harness.pass(6_000, 500);
  expect(sentIds(harness)).toEqual([...missed, ...failed].toSorted());
});

it('finds a damaged backlog again: what was in flight is sent again, and what waited', async () => {
  const harness = await openHarness();
  const endpoint = await harness.endpoint();
  const before = await harness.happen(3);
  harness.sender.answer = ({ attempt }) => (attempt === 1 ? 'hang' : 500);
  const events = await harness.happen(20);
  expect(harness.sender.sent).toHaveLength(3 + 16);
  const [, second, third] = events;
  // The oldest stays in flight.
  harness.sender.end(200, ({ eventId }) => eventId === second);
  harness.sender.end(500, ({ eventId }) => eventId === third);
  await harness.settle();
  await harness.crash(() => damage(harness, 'delivery', /^backlogs$/));
  await harness.settle();
  const again = events.filter((id) => id !== second && id !== third);
  expect(sentIds(harness)).toEqual(again.toSorted());
  await harness.pass(6_000, 500);
  const { deliveries } = harness.webhooks;
  const { data } = deliveries.list(endpoint.no, { state: 'delivered', limit: 50 });
  const delivered = data.flatMap(({ eventIds }) => eventIds);
  expect(delivered.toSorted()).toEqual([...before, ...events].toSorted());
});

it('sends nothing to an endpoint whose record is damaged, and deletes nothing of it', async () => {
  const harness = await openHarness();
  const endpoint = await harness.endpoint();
  harness.sender.answer = () => 500;
  await harness.happen(2);
  await harness.crash(() => damage(harness, 'management', /^webhook_endpoints$/));
  await harness.pass(6_000, 1_000);
  expect(harness.sender.sent).toEqual([]);
  expect(harness.webhooks.deliveries.figures(endpoint.no).waiting).toBe(2);
});
