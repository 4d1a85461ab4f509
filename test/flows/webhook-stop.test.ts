/**
 * SIGTERM while receivers hang and the queue is full: the service ends with 0 in time, nothing is lost, and after
 * the next start only what was in flight is sent again, with the same bytes under the same ids.
 */
import { expect, it } from 'vitest';
import { word } from '../support/client.ts';
import { withDataFolder } from '../support/process.ts';
import { healthy, openReceiver, type Receiver } from '../support/receiver.ts';
import { eventually } from '../webhooks/eventually.ts';
import { committedIds, createMany, makeEndpoint, openReal } from '../webhooks/real-service.ts';

const endMsMax = 15_000;
const events = 60;
/** Attempts in flight to one endpoint. */
const width = 16;
/** Some are answered while the service stops. */
const slowMs = 700;

interface Seen {
  readonly id: string;
  readonly delivery: string;
  readonly body: string;
}

function seenBy({ requests }: Receiver): Seen[] {
  return requests
    .filter(({ path }) => path === '/hook')
    .map(({ headers, body }) => ({
      id: word(headers['webhook-id']),
      delivery: word(headers['x-service-delivery']),
      body: body.toString(),
    }));
}

const repeatedIn = (seen: readonly Seen[]): string[] =>
  seen.map(({ id }) => id).filter((id, at, ids) => ids.indexOf(id) < at);

it('ends in time, and repeats only what was in flight', { timeout: 180_000 }, () =>
  withDataFolder(async (dataDir) => {
    const hanging = await openReceiver({ kind: 'hang' });
    const slow = await openReceiver({ kind: 'answer', delayMs: slowMs });
    const well = await openReceiver();
    const all = [hanging, slow, well];
    const real = await openReal(dataDir);
    for (const receiver of all) await makeEndpoint(real, receiver.url('/hook'));
    const tested = await makeEndpoint(real, hanging.url('/test'), ['qr.deleted']);
    const trial = real.api
      .call('POST', `/webhooks/${tested}/test`, { body: { event: 'qr.deleted' } })
      .catch(() => undefined);
    await hanging.arrived(1);
    await createMany(real, events);
    const committed = await committedIds(real, events);
    await hanging.arrived(1 + width);
    await well.arrived(events);
    await eventually(() => slow.requests.length > width, 'the slow one has begun');

    const end = await real.service.terminate();
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(end.ms).toBeLessThan(endMsMax);
    process.stdout.write(`ended after ${end.ms.toFixed(0)} ms\n`);
    const said = real.service.logEntries.map(({ level, msg }) => `${level} ${msg}`);
    expect(said).toContain('warn webhook attempts stopped, they are repeated');
    expect(said.filter((line) => line.startsWith('error'))).toEqual([]);
    await trial;
    await real.api.close();
    const before = all.map(seenBy);
    expect(before.map(repeatedIn)).toEqual([[], [], []]);
    expect(before[0]).toHaveLength(width);
    // What still waits.
    expect(before[1]?.length).toBeLessThan(events);

    for (const receiver of all) receiver.behave(healthy);
    const again = await openReal(dataDir, { key: real.key });
    for (const receiver of all) {
      const ids = (): Set<string> => new Set(seenBy(receiver).map(({ id }) => id));
      await eventually(() => ids().size === events, 'all have come');
      expect([...ids()].sort()).toEqual(committed.toSorted());
    }
    const after = all.map(seenBy);
    expect(repeatedIn(after[0] ?? []).sort()).toEqual(before[0]?.map(({ id }) => id).sort());
    const slowAgain = repeatedIn(after[1] ?? []);
    const lastOfSlow = before[1]?.slice(-width).map(({ id }) => id);
    expect(slowAgain.filter((id) => !lastOfSlow?.includes(id))).toEqual([]);
    expect(repeatedIn(after[2] ?? [])).toEqual([]);
    for (const seen of after) {
      expect(new Set(seen.map(({ body }) => body)).size).toBe(events);
      expect(new Set(seen.map(({ delivery }) => delivery)).size).toBe(events);
    }
    await again.api.close();
    expect((await again.service.terminate()).code).toBe(0);
    await Promise.all(all.map((receiver) => receiver.close()));
  }),
);
