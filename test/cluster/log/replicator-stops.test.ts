import { describe, expect, it } from 'vitest';
import { encodeEntry, encodeWrites, readEntry } from '../../../src/cluster/log/entry.ts';
import { packPlain } from '../../../src/store/codec.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import { LogWriter } from './log-writer.ts';
import { ReplicatorFixture, watched } from './replicator-fixture.ts';

const writes: StoredWrite[] = [['numbers', 'a', Buffer.from('1')]];
const others: StoredWrite[] = [['numbers', 'b', Buffer.from('2')]];

describe('a replicator stops', () => {
  const log = new LogWriter();
  const bodies = [log.lead(), log.tx(writes), log.tx(others)];

  const standby = async (): Promise<ReplicatorFixture> => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.append(...bodies);
    await machine.pass(10);
    expect(machine.store.stored.seq).toBe(3);
    return machine;
  };

  it('where an append gets a position that is applied already', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    await Promise.all([machine.replicator.commit(writes), machine.pass(10)]);
    machine.stream.loseAbove(1);
    const write = watched(machine.replicator.commit(others));
    await machine.pass(10);
    const detail = 'the log appended a new entry at 2, and 2 is applied here';
    expect(machine.stops).toEqual([{ reason: 'diverged', detail }]);
    const { length } = machine.log.sent;
    await machine.pass(30_000);
    expect(write.state).toBe('waits');
    expect(machine.log.sent).toHaveLength(length);
    expect(machine.stops).toHaveLength(1);
    expect(machine.replicator.status).toMatchObject({ state: 'stopped', stop: { detail } });
    expect(() => machine.replicator.check()).toThrow('Cannot change anything here');
  });

  const tooShort = { reason: 'diverged', detail: 'the log ends at 1, and 3 is applied here' };

  it('where the log is too short for 15 s, and claims no lead meanwhile', async () => {
    const machine = await standby();
    machine.stream.loseAbove(1);
    await machine.pass(8_000);
    // Once it has its end.
    machine.append(bodies[1]!, bodies[2]!);
    await machine.pass(1_000);
    machine.stream.loseAbove(1);
    await machine.pass(15_900);
    expect(machine.stops).toEqual([]);
    await machine.pass(200);
    expect(machine.stops).toEqual([tooShort]);
    expect(machine.log.sent).toEqual([]);
  });

  it('where the log is too short for three questions, not for two', async () => {
    const machine = await standby();
    machine.stream.loseAbove(1);
    await machine.pass(1_500);
    machine.log.leave();
    await machine.pass(20_000);
    machine.log.comeBack();
    while (machine.replicator.status.restarts === 0) await machine.pass(50);
    await machine.pass(900);
    expect(machine.stops).toEqual([]);
    await machine.pass(200);
    expect(machine.stops).toEqual([tooShort]);
  });

  it('where another entry stands at the place that it has stored', async () => {
    const machine = new ReplicatorFixture();
    machine.store.stored = (await standby()).store.stored;
    machine.append(bodies[0]!, bodies[1]!, bodies[1]!);
    machine.start();
    await machine.pass(10);
    const detail = 'entry 3 is not the one that was applied';
    expect(machine.stops).toEqual([{ reason: 'diverged', detail }]);
  });

  it('where a rule of the applier says so, and applies nothing after it', async () => {
    const machine = await standby();
    const { epoch, n, chain } = machine.replicator.status.position;
    const bytes = encodeWrites(writes)[0]!;
    machine.append(
      encodeEntry({ epoch, n: n + 2, chain, kind: 'tx', part: 0, parts: 1, bytes }),
      machine.other.tx(writes),
    );
    await machine.pass(10);
    const detail = 'entry 4 of epoch 1 follows 2';
    expect(machine.stops).toEqual([{ reason: 'diverged', detail }]);
    expect(machine.store.applied).toEqual([writes, others]);
  });

  it('where the next entry was pruned, not where the log begins with it', async () => {
    const { stored } = (await standby()).store;
    for (const below of [4, 5]) {
      const machine = new ReplicatorFixture();
      machine.store.stored = stored;
      const goOn = Object.assign(new LogWriter(), { epoch: 1, n: 2, chain: stored.chain });
      machine.append(...bodies, goOn.tx(writes), goOn.tx(writes));
      machine.stream.prune(below);
      machine.start();
      await machine.pass(10);
      const detail = 'the log begins at 5, and only 3 is applied here';
      expect(machine.stops).toEqual(below === 4 ? [] : [{ reason: 'behind', detail }]);
      expect(machine.store.applied).toEqual(below === 4 ? [writes, writes] : []);
    }
  });

  it('where an entry is newer than this program', async () => {
    const machine = await standby();
    machine.append(packPlain([7, 1, 2]), packPlain([7, 1, 3]));
    await machine.pass(10);
    const detail = 'an entry has version 7, which this program does not know';
    expect(machine.stops).toEqual([{ reason: 'newer', detail }]);
    expect(machine.replicator.status.ignored).toBe(1);
  });

  it('where a leader cannot apply what counts', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.store.error = new Error('the disk is full');
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(30_000);
    const detail = 'an entry that counts cannot be applied: the disk is full';
    expect(machine.stops).toEqual([{ reason: 'unapplied', detail }]);
    expect(write.state).toBe('waits');
    expect(machine.stream.last).toBe(2);
  });
});

describe('close', () => {
  it('answers nothing, and writes and reads nothing more', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    const first = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    machine.refuseAppends();
    const second = watched(machine.replicator.commit(others));
    await machine.pass(10);
    const { length } = machine.log.sent;
    machine.replicator.close();
    machine.append(machine.other.lead());
    await machine.pass(60_000);
    expect([first.state, second.state]).toEqual(['done', 'waits']);
    expect(machine.log.sent).toHaveLength(length);
    expect(machine.replicator.status).toMatchObject({ state: 'stopped', position: { epoch: 1 } });
    expect(machine.events).toEqual(['leading']);
  });

  it('is not followed by a stop', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    await Promise.all([machine.replicator.commit(writes), machine.pass(10)]);
    machine.stream.loseAbove(1);
    void watched(machine.replicator.commit(others));
    machine.replicator.close();
    await machine.pass(1_000);
    expect(readEntry(machine.stream.at(2))?.content?.kind).toBe('tx');
    expect(machine.stops).toEqual([]);
  });
});
