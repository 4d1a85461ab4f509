/** Webhooks when another core takes the lead: each scan arrives, with the same id and bytes, and what was settled does not come again. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Webhooks } from '../../src/webhooks/open-webhooks.ts';
import { settledByLeader } from '../../src/webhooks/feeds/scan-takeover.ts';
import { eventually } from '../support/soon.ts';
import { Random } from '../torture/random.ts';
import { seedsOfToday } from '../seconds/runs.ts';
import { scannedEntries } from './bare-webhooks.ts';
import { Cluster, type Core, noteMs, Receivers } from './cluster-cores.ts';

/** Events of people's scans, as a core has them in its blocks. */
const eventIdsOf = ({ engine }: Core): string[] =>
  Array.from(scannedEntries(engine), ({ eventId }) => eventId);

/** @returns the number of an endpoint for scans */
async function listen({ endpoints }: Webhooks, maxBatch: number): Promise<number> {
  const actor = { workspaceNo: 1, userId: 'usr_00000000000000000001' };
  const wanted = { url: 'https://one.example/', events: ['qr.scanned'], maxBatch } as const;
  return (await endpoints.create(actor, wanted)).endpoint.no;
}

/** Events that an endpoint's log or rows have, as the log of the cluster says. */
function settledIn({ tables }: Core): Set<string> {
  tables.environment.refresh();
  const settled = new Set<string>();
  for (const { key, value } of tables.log.range({})) {
    for (const id of value[2]) settled.add(`${key[0]} ${id}`);
  }
  for (const { value } of tables.rows.range({})) {
    for (const id of value.eventIds) settled.add(`${value.endpointNo} ${id}`);
  }
  return settled;
}

/** The blocks of all cores may expire. */
async function expectReleased(cluster: Cluster, leader: Core): Promise<void> {
  for (let blocks = 0; blocks < 40; blocks++) {
    cluster.clock.move(50);
    cluster.scan(0, new Map([[1, 1]]));
    for (const core of cluster.cores) core.count();
    if (blocks % 8 === 0) await cluster.settle(1_200);
  }
  const [newest = 0] = leader.blocks.toReversed();
  await eventually(async () => {
    await cluster.settle(1_200);
    return leader.delivered === newest;
  }, 'the blocks of the leader may expire');
  // All cores note where their blocks end.
  await cluster.settle(noteMs);
  await cluster.settle();
  for (const { blocks, engine, name, tables } of cluster.cores) {
    if (name === leader.name) continue;
    expect(settledByLeader(tables, engine.store)).toBe(blocks.at(-1));
  }
}

/** @param all by endpoint and event */
async function expectSettled(
  cluster: Cluster,
  receivers: Receivers,
  all: readonly string[],
): Promise<void> {
  const leader = cluster.leader!;
  const missing = (): string[] => {
    const settled = settledIn(leader);
    return all.filter((key) => !settled.has(key));
  };
  await eventually(async () => {
    receivers.endHanging();
    await cluster.settle(1_200);
    return missing().length === 0;
  }, 'all is delivered, and stored');
  expect(receivers.faults).toEqual([]);
  expect(all.filter((key) => !receivers.counts.has(key))).toEqual([]);
}

async function failOver(seed: number): Promise<void> {
  const random = new Random(seed);
  const shards = Array.from({ length: 3 }, () => random.between(1, 4));
  const cluster = new Cluster(shards, random.pick([1, 2_000, 65_536]));
  const receivers = new Receivers();
  const [first] = cluster.cores;
  const scan = (): void => {
    cluster.clock.move(random.between(1, 120));
    const codes = Array.from({ length: random.between(1, 6) }, () => random.between(1, 9));
    const count = (): number => random.pick([1, 2, 5, 11, 30]);
    cluster.scan(random.between(0, 2), new Map(codes.map((code) => [code, count()])));
    for (const core of cluster.cores) if (random.chance(0.5)) core.count(random.between(1, 4));
  };
  // Of before anybody listens: never sent.
  for (let count = 0; count < 5; count++) scan();
  for (const core of cluster.cores) core.count();
  const before = new Set(eventIdsOf(first!));
  cluster.clock.move(10_000);
  const webhooks = await cluster.lead(first!, receivers);
  const endpoints = [];
  for (const maxBatch of [100, 7, 1]) endpoints.push(await listen(webhooks, maxBatch));
  const repeated = new Set<string>();
  const hangs = random.pick([0, 0.02, 0.3]);
  receivers.answer = () => {
    if (random.chance(hangs)) return 'hang';
    return random.chance(0.9) ? 200 : 500;
  };
  for (let lead = 0; lead < 3; lead++) {
    const dying = cluster.leader!;
    if (random.chance(0.7)) cluster.entriesLeft = random.between(1, 12);
    for (let step = 0; step < 8 && cluster.leader === dying; step++) {
      scan();
      if (random.chance(0.5)) await cluster.settle(random.pick([100, 300, 1_200]));
      if (random.chance(0.3)) receivers.endHanging();
    }
    await cluster.bury(dying, receivers);
    const next = random.pick(cluster.cores);
    const settled = settledIn(next);
    for (const key of receivers.counts.keys()) if (!settled.has(key)) repeated.add(key);
    for (const core of cluster.cores) {
      expect(settledIn(core)).toEqual(settled);
    }
    if (random.chance(0.5)) next.count();
    cluster.clock.move(4_000);
    await cluster.lead(next, receivers);
  }
  receivers.answer = () => 200;
  for (const core of cluster.cores) core.count();
  const leader = cluster.leader!;
  const expected = eventIdsOf(leader).filter((id) => !before.has(id));
  const all = endpoints.flatMap((no) => expected.map((id) => `${no} ${id}`));
  await expectSettled(cluster, receivers, all);
  const again = [...receivers.counts].filter(([key, count]) => count > 1 && !repeated.has(key));
  expect(again.filter(([key]) => !receivers.failed.has(key))).toEqual([]);
  expect([...receivers.counts.keys()].filter((key) => before.has(key.split(' ')[1]!))).toEqual([]);
  await expectReleased(cluster, leader);
  await cluster.bury(leader, receivers);
}

it.each(seedsOfToday(1))('loses nothing: seed %i', async (seed) => {
  await failOver(seed);
});

/** A cluster of one core, which leads and has an endpoint that gets each scan alone. */
async function oneLeading() {
  const cluster = new Cluster([1]);
  const core = cluster.cores[0]!;
  const receivers = new Receivers();
  const webhooks = await cluster.lead(core, receivers);
  await listen(webhooks, 1);
  await webhooks.start();
  const pass = async (): Promise<void> => {
    cluster.clock.move(100);
    await pause(5);
  };
  const scan = async (count = 1): Promise<void> => {
    cluster.scan(0, new Map([[1, count]]));
    core.count();
    await pass();
  };
  return { cluster, core, receivers, webhooks, pass, scan };
}

it('stores what was sent while the log took nothing, and sends only while the lease is held', async () => {
  const { cluster, core, receivers, pass, scan } = await oneLeading();
  const isSettled = async (): Promise<boolean> => {
    await pass();
    return settledIn(core).size === eventIdsOf(core).length;
  };
  for (let left = 3; left > 0; left--) await scan();
  await eventually(isSettled, 'all is stored');
  expect(receivers.counts.size).toBe(3);
  const takeEntries = cluster.holdLog();
  for (let left = 30; left > 0; left--) await scan();
  takeEntries();
  await eventually(isSettled, 'all is stored later');
  cluster.isHeld = false;
  for (let left = 5; left > 0; left--) await scan();
  expect(receivers.counts.size).toBe(33);
  cluster.isHeld = true;
  await eventually(isSettled, 'all is stored again');
  expect([...receivers.counts.values()].filter((count) => count !== 1)).toEqual([]);
  await cluster.bury(core, receivers);
});

it('stores the results that there are when it stops, and waits for attempts in flight as long as it may', async () => {
  const { cluster, core, receivers, webhooks, scan } = await oneLeading();
  let answered = 5;
  receivers.answer = () => (answered-- > 0 ? 200 : 'hang');
  const takeEntries = cluster.holdLog();
  await scan(8);
  await eventually(() => receivers.counts.size === 8, 'all are sent');
  await pause(5);
  const stopped = webhooks.stop(20);
  await pause(700);
  takeEntries();
  await stopped;
  expect(settledIn(core).size).toBe(5);
  await scan();
  expect(receivers.counts.size).toBe(8);
  await cluster.bury(core, receivers);
});

it('sends what it had read when it led before, and the leader since then had not counted', async () => {
  const cluster = new Cluster([1, 1]);
  const [one, other] = [cluster.cores[0]!, cluster.cores[1]!];
  const receivers = new Receivers();
  await listen(await cluster.lead(one, receivers), 1);
  const scan = (journal: number, ...countedBy: readonly Core[]): void => {
    cluster.clock.move(1);
    cluster.scan(journal, new Map([[1, 5]]));
    for (const core of countedBy) core.count();
  };
  const all = (): string[] => eventIdsOf(one).map((id) => `1 ${id}`);
  scan(0, one, other);
  await expectSettled(cluster, receivers, all());
  receivers.answer = () => 'hang';
  scan(0, one);
  // Until it has stored where it would begin to read.
  await cluster.settle(15_000);
  await cluster.bury(one, receivers);
  receivers.answer = () => 200;
  cluster.clock.move(4_000);
  await cluster.lead(other, receivers);
  await cluster.settle(15_000);
  await cluster.bury(other, receivers);
  cluster.clock.move(4_000);
  await cluster.lead(one, receivers);
  await expectSettled(cluster, receivers, all());
  await cluster.bury(one, receivers);
});
