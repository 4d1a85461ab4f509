/**
 * Numbers of deleted codes on two cores: each removes them from a store of its own, the leader the records later, and a
 * core that was away finds everything there when it is back.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { CodeRetention, recordsLaterMs } from '../../src/codes/code-retention.ts';
import { type ExpiredCode, partitionOf } from '../../src/model/code.ts';
import { dayMs } from '../../src/model/day.ts';
import type { CodeNo } from '../../src/model/numbers.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { EngineHarness } from '../scans/engine-harness.ts';
import { actor, openCodes, type CodesFixture } from './codes-fixture.ts';

const log = createLog('silent', { write: () => undefined });

/** A core's own scans. */
class Core {
  readonly engine: EngineHarness;
  readonly retention: CodeRetention;
  readonly asked: CodeNo[] = [];

  constructor({ store, clock, codes }: CodesFixture, shards: number, isLeading: boolean) {
    this.engine = new EngineHarness({
      journals: 1,
      segmentBytesMax: 1_000_000,
      actorsMax: 100,
      rawRetentionDays: 30,
      codeOf: (no) => codes.findScanned(no),
    });
    this.engine.startShards(shards);
    const { memberships } = codes;
    this.retention = new CodeRetention({
      store,
      memberships,
      isLeading: () => isLeading,
      clock,
      log,
      removeNumbers: (expired) => this.#remove(expired),
    });
    onTestFinished(async () => {
      await this.retention.close();
      await this.engine.close();
    });
  }

  #remove(expired: readonly ExpiredCode[]): void {
    this.asked.push(...expired.map(({ codeNo }) => codeNo));
    const { shards } = this.engine;
    for (const [index, shard] of shards.entries()) {
      shard.expiry.add(
        expired.filter(({ codeNo }) => partitionOf(codeNo) % shards.length === index),
      );
    }
  }

  async work(cycles = 20): Promise<void> {
    await this.retention.tick();
    for (let cycle = 0; cycle < cycles; cycle++) {
      for (const [index, shard] of this.engine.shards.entries()) {
        this.engine.cycle(index);
        const done = shard.expiry.takeDone();
        if (done.length > 0) this.retention.numbersRemoved(done);
      }
      await yieldToEventLoop();
    }
    await this.retention.tick();
  }

  /** Of a code. */
  has(codeNo: CodeNo): boolean {
    this.engine.store.environment.refresh();
    const { summaries, days } = this.engine.store;
    const isOwn = (key: Uint8Array): boolean => Buffer.from(key).readUInt32BE(0) === codeNo;
    return summaries.has(codeNo) || [...days.keys({})].some(isOwn);
  }
}

async function openPair() {
  const fixture = await openCodes();
  const { store, clock, codes } = fixture;
  const [leader, standby] = [new Core(fixture, 2, true), new Core(fixture, 3, false)];
  const make = async () => await codes.create(actor, { target: 'https://example.com/' });
  const [kept, ...doomed] = [await make(), await make(), await make(), await make()];
  const first = Math.floor(clock.now() / dayMs);
  for (const { engine } of [leader, standby]) {
    for (let day = first; day < first + 5; day++) {
      engine.nowMs = day * dayMs;
      const input = {
        agent: '',
        referer: '',
        address: Uint8Array.of(10, 0, 0, 1),
        isPrefetch: false,
      };
      const scans = [kept, ...doomed].map(({ no, workspaceNo }) => {
        return { codeNo: no, workspaceNo, ...input };
      });
      engine.scan(0, engine.nowMs, scans);
      engine.settle();
    }
    for (const index of engine.shards.keys()) engine.checkpoint(index);
  }
  clock.move(10 * dayMs);
  for (const { id } of doomed) {
    await codes.delete(actor, id);
    clock.move(1_000);
  }
  const pass = (ms: number): void => {
    clock.move(ms);
    for (const { engine } of [leader, standby]) engine.nowMs = clock.now();
  };
  return {
    store,
    leader,
    standby,
    kept: kept.no,
    doomed: doomed.map(({ no }) => no),
    pass,
  };
}

test('every core removes them once, after 90 days; the records go later', async () => {
  const { store, leader, standby, kept, doomed, pass } = await openPair();
  pass(89 * dayMs);
  for (const core of [leader, standby]) await core.work();
  expect(leader.asked).toEqual([]);
  pass(dayMs);
  for (const core of [leader, standby]) {
    expect(doomed.map((no) => core.has(no))).toEqual([true, true, true]);
    await core.work();
    expect(doomed.map((no) => core.has(no))).toEqual([false, false, false]);
    expect(core.has(kept)).toBe(true);
    // The position stands behind them.
    await core.work();
    expect(core.asked).toEqual(doomed);
  }
  expect(doomed.every((no) => store.codes.has(no))).toBe(true);
  pass(recordsLaterMs);
  await standby.work();
  expect(doomed.every((no) => store.codes.has(no))).toBe(true);
  await leader.work();
  expect(doomed.some((no) => store.codes.has(no))).toBe(false);
  expect([...store.deletedCodes.keys({})]).toEqual([]);
});

test('a core that was away for a week, or whose shards died with what they were asked', async () => {
  const { leader, standby, doomed, pass } = await openPair();
  pass(90 * dayMs - 2_500);
  await standby.work();
  expect(doomed.map((no) => standby.has(no))).toEqual([false, true, true]);
  pass(7 * dayMs);
  await leader.work();
  await standby.retention.tick();
  standby.engine.startShards(2);
  await standby.work();
  expect(doomed.map((no) => standby.has(no))).toEqual([false, false, false]);
  expect(standby.asked).toEqual([doomed[0], doomed[1], doomed[2], doomed[1], doomed[2]]);
});
