import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../log/memory-log.ts';
import { Fixture } from './receiver-fixture.ts';

describe('a piece', () => {
  it('counts once: what is known is dropped, and only the rest of it written', async () => {
    const own = new Fixture();
    own.piece(0, 0, 30);
    own.piece(0, 0, 30);
    own.piece(0, 10, 30);
    own.piece(0, 10, 25);
    own.piece(0, 20, 50);
    own.piece(1, 0, 5);
    own.piece(0, 50, 60);
    await own.pass(100);
    expect(own.writes).toEqual([
      [0, 0, 30],
      [0, 30, 20],
      [1, 0, 5],
      [0, 50, 10],
    ]);
    expect([own.rewinds, own.receiver.dropped, own.receiver.fault]).toEqual([[], 0, undefined]);
  });

  it('behind a hole of its journal is written where it belongs', async () => {
    const own = new Fixture();
    own.piece(0, 40, 50, 0);
    own.piece(0, 100, 120, 50);
    // Sent again from within the hole.
    own.piece(0, 100, 130, 70);
    own.piece(0, 200, 210, 110);
    await own.pass(100);
    expect(own.writes).toEqual([
      [0, 40, 10],
      [0, 100, 20],
      [0, 120, 10],
      [0, 200, 10],
    ]);
    expect(own.rewinds).toEqual([]);
  });

  it('of another run, or without sense, is dropped and counted', async () => {
    const own = new Fixture();
    own.piece(0, 0, 30, 0, 6);
    own.piece(0, 0, 30, 0, 8);
    own.stream.append(Buffer.from('no piece'));
    own.piece(0, 0, 20);
    await own.pass(1_100);
    expect(own.writes).toEqual([[0, 0, 20]]);
    expect([own.receiver.dropped, own.saved.seq]).toEqual([3, 4]);
  });
});

describe('a piece that is missing', () => {
  it('is asked for once a second for each journal, from where the journal ends', async () => {
    const own = new Fixture();
    own.piece(0, 0, 10);
    await own.pass(100);
    own.piece(0, 11, 20);
    own.piece(0, 20, 30);
    await own.pass(500);
    own.piece(0, 30, 40);
    own.piece(1, 5, 6);
    await own.pass(499);
    own.piece(0, 40, 50);
    await own.pass(0);
    await own.pass(1);
    own.piece(0, 50, 60);
    await own.pass(10);
    expect(own.rewinds).toEqual([
      [0, 10, 100],
      [1, 0, 600],
      [0, 10, 1_100],
    ]);
    own.piece(0, 10, 60);
    await own.pass(10);
    own.piece(0, 70, 80);
    await own.pass(2_000);
    expect(own.writes.slice(1)).toEqual([[0, 10, 50]]);
    expect(own.rewinds.length).toBe(3);
    own.piece(0, 80, 90);
    await own.pass(10);
    expect(own.rewinds[3]).toEqual([0, 60, own.nowMs - 10]);
  });
});

describe('one that reads what is long past', () => {
  it('asks again only when it has read all that the log had when it asked', async () => {
    const own = new Fixture();
    own.piece(0, 0, 10);
    await own.pass(1_500);
    own.receiver.stop();
    own.stream.prune(2);
    for (let from = 20; from < 220; from += 10) own.piece(0, from, from + 10);
    own.writeFault = new Error('ENOSPC');
    own.piece(1, 0, 10);
    own.piece(0, 220, 230);
    own.receiver = own.start();
    await own.pass(20_000);
    own.writeFault = undefined;
    await own.pass(2_000);
    expect(own.rewinds.map(([journal, position]) => [journal, position])).toEqual([[0, 10]]);
    expect([own.receiver.behind, own.receiver.readSeq]).toEqual([0, 23]);
    own.piece(0, 230, 240);
    await own.pass(10);
    expect(own.rewinds.length).toBe(2);
  });
});

it('a journal of this machine is passed over: it has it', async () => {
  const own = new Fixture();
  own.piece(99, 0, 10);
  own.piece(99, 50, 60, 50, 6);
  await own.pass(1_100);
  expect([own.writes, own.rewinds, own.receiver.dropped]).toEqual([[], [], 0]);
  expect([own.receiver.savedSeq, own.receiver.behind]).toEqual([2, 0]);
});

describe('how far the log was read', () => {
  it('is saved once a second, only when everything before it is on the disk', async () => {
    const own = new Fixture();
    own.syncMs = 300;
    own.piece(0, 0, 10);
    await own.pass(999);
    expect([own.syncs, own.saves]).toEqual([0, []]);
    await own.pass(1);
    own.piece(0, 10, 20);
    await own.pass(299);
    expect([own.syncs, own.saves, own.writes.length]).toEqual([1, [], 2]);
    await own.pass(1);
    expect(own.saves).toEqual([1]);
    await own.pass(1_300);
    expect(own.saves).toEqual([1, 2]);
    await own.pass(10_000);
    expect(own.syncs).toBe(2);
  });

  it('is not saved while the disk or the store refuses; that is told until they do not', async () => {
    const own = new Fixture();
    own.piece(0, 0, 10);
    own.syncFault = new Error('EIO');
    await own.pass(2_500);
    expect([own.saves, own.syncs, own.receiver.fault]).toEqual([[], 2, 'EIO']);
    own.piece(0, 10, 20);
    await own.pass(100);
    expect(own.receiver.fault).toBe('EIO');
    own.syncFault = undefined;
    own.saveFault = new Error('the store is full');
    await own.pass(1_000);
    expect([own.saves, own.receiver.fault]).toEqual([[], 'the store is full']);
    own.saveFault = undefined;
    await own.pass(1_000);
    expect([own.saves, own.receiver.fault]).toEqual([[2], undefined]);
  });

  it('is where the next one goes on', async () => {
    const own = new Fixture();
    own.piece(0, 0, 10);
    await own.pass(1_500);
    own.piece(0, 10, 20);
    await own.pass(100);
    own.receiver.stop();
    // Lost with the power.
    own.journals.get(0)!.tail = 10;
    own.receiver = own.start();
    await own.pass(100);
    expect(own.writes).toEqual([
      [0, 0, 10],
      [0, 10, 10],
      [0, 10, 10],
    ]);
    expect(own.missed).toEqual([]);
  });
});

it('how far each journal was on the disk is saved with it, also of those that nothing came for', async () => {
  const own = new Fixture();
  own.syncMs = 300;
  own.piece(0, 0, 10);
  own.piece(1, 0, 5);
  await own.pass(1_100);
  own.piece(0, 10, 30);
  await own.pass(300);
  expect(own.saved).toEqual({
    seq: 2,
    tails: new Map([
      [0, 10],
      [1, 5],
    ]),
  });
  own.receiver.stop();
  own.journals.clear();
  own.journals.set(0, { tail: 10, positions: [] });
  own.receiver = own.start();
  await own.pass(1_500);
  expect(own.saved).toEqual({
    seq: 3,
    tails: new Map([
      [0, 30],
      [1, 5],
    ]),
  });
});

describe('a disk that refuses', () => {
  it.each(['tailFault', 'writeFault'] as const)(
    'is tried again each second, from the same entry: %s',
    async (fault) => {
      const own = new Fixture();
      own.piece(0, 0, 10);
      await own.pass(100);
      own[fault] = new Error('ENOSPC');
      for (const from of [10, 20]) own.piece(0, from, from + 10);
      await own.pass(2_100);
      expect([own.writes.length, own.receiver.fault, own.saved.seq]).toEqual([1, 'ENOSPC', 1]);
      own[fault] = undefined;
      await own.pass(850);
      expect(own.writes.length).toBe(1);
      await own.pass(100);
      expect(own.writes.slice(1)).toEqual([
        [0, 10, 10],
        [0, 20, 10],
      ]);
      await own.pass(1_000);
      expect([own.receiver.fault, own.saved.seq, own.receiver.dropped]).toEqual([undefined, 3, 0]);
    },
  );
});

describe('a log', () => {
  it('that lost its end is read from there: positions say what is new', async () => {
    const own = new Fixture();
    for (const from of [0, 10, 20]) own.piece(0, from, from + 10);
    await own.pass(1_500);
    expect(own.saved.seq).toBe(3);
    own.receiver.stop();
    own.stream.loseAbove(1);
    own.receiver = own.start();
    await own.pass(1_500);
    expect(own.saved.seq).toBe(1);
    own.piece(0, 10, 30);
    own.piece(0, 30, 40);
    await own.pass(1_500);
    expect(own.writes.slice(3)).toEqual([[0, 30, 10]]);
    expect([own.saved.seq, own.missed]).toEqual([3, []]);
  });

  it('that answers late about its end, behind entries that came meanwhile, has lost nothing', async () => {
    const own = new Fixture();
    own.receiver.stop();
    const log = new MemoryLog(own.stream, own.later);
    const bounds = log.bounds.bind(log);
    log.bounds = async () => {
      const asked = await bounds();
      await new Promise<void>((resolve) => void own.later(150, resolve));
      return asked;
    };
    own.receiver = own.start(log);
    for (let from = 0; from < 400; from += 10) {
      own.piece(0, from, from + 10);
      await own.pass(100);
      expect(own.receiver.readSeq).toBeGreaterThanOrEqual(own.saved.seq);
      if (from === 200) own.stream.prune(own.saved.seq + 1);
    }
    await own.pass(2_000);
    expect([own.saved.seq, own.missed]).toEqual([40, []]);
  });

  it('that lost all and has grown since then is read from its beginning', async () => {
    const own = new Fixture();
    for (const from of [0, 10, 20]) own.piece(0, from, from + 10);
    await own.pass(1_500);
    own.receiver.stop();
    own.stream.loseAbove(0);
    own.piece(0, 30, 40);
    own.receiver = own.start();
    await own.pass(1_500);
    expect(own.writes.slice(3)).toEqual([[0, 30, 10]]);
    expect([own.saved.seq, own.rewinds, own.missed]).toEqual([1, [], []]);
  });

  it('that was pruned is read from its beginning, and what was missed is named', async () => {
    const own = new Fixture();
    own.piece(0, 0, 10);
    await own.pass(1_500);
    own.receiver.stop();
    for (const from of [10, 20, 30, 40]) own.piece(0, from, from + 10);
    own.stream.prune(4);
    own.receiver = own.start();
    await own.pass(3_500);
    expect(own.missed).toEqual([[2, 3]]);
    expect([own.rewinds.length, own.saved.seq]).toEqual([1, 5]);
    own.stream.prune(6);
    await own.pass(3_500);
    own.receiver.stop();
    own.receiver = own.start();
    await own.pass(3_500);
    expect(own.missed.length).toBe(1);
    own.piece(0, 10, 50);
    await own.pass(10);
    expect(own.writes.at(-1)).toEqual([0, 10, 40]);
  });
});

describe('one that is stopped', () => {
  it('reads and saves nothing more, also while a sync is under way', async () => {
    const own = new Fixture();
    own.syncMs = 300;
    own.piece(0, 0, 10);
    await own.pass(1_100);
    own.receiver.stop();
    own.piece(0, 10, 20);
    await own.pass(10_000);
    expect([own.syncs, own.saves, own.writes.length]).toEqual([1, [], 1]);
  });

  it('does so while it waits for the log, a disk or the next save', async () => {
    for (const ms of [0, 100, 500]) {
      const own = new Fixture();
      if (ms === 500) own.writeFault = new Error('ENOSPC');
      own.piece(0, 0, 10);
      if (ms > 0) await own.pass(ms);
      const written = own.writes.length;
      own.receiver.stop();
      own.writeFault = undefined;
      own.piece(0, 10, 20);
      await own.pass(10_000);
      expect([own.syncs, own.saves, own.writes.length]).toEqual([0, [], written]);
    }
  });
});
