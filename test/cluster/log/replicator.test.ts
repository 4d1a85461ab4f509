import { describe, expect, it } from 'vitest';
import {
  chainBytes,
  encodeEntry,
  encodeWrites,
  readEntry,
} from '../../../src/cluster/log/entry.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import { leadOf, LogWriter } from './log-writer.ts';
import { ReplicatorFixture, watched } from './replicator-fixture.ts';

const writes: StoredWrite[] = [['numbers', 'a', Buffer.from('1')]];
const others: StoredWrite[] = [['numbers', 'b', Buffer.from('2')]];
const otherChain = Buffer.alloc(chainBytes, 1);
const otherLeads = {
  code: 'not_active',
  message: 'Cannot change anything here: another machine leads now',
};

describe('a write', () => {
  it('is done when it was read back and is stored, not when the log has answered', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    expect(machine.events).toEqual(['leading']);
    machine.log.holdReading();
    machine.store.hold();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    expect(machine.stream.last).toBe(2);
    expect(write.state).toBe('waits');
    machine.log.release();
    await machine.pass(10);
    expect(write.state).toBe('waits');
    machine.store.release();
    await machine.pass(10);
    expect(write.state).toBe('done');
    expect(machine.store.applied).toEqual([writes]);
    expect(machine.store.stored).toMatchObject({ seq: 2, epoch: 1, n: 1 });
  });

  it('is sent again with the same bytes after 1 s, then 2 s, until it is read back, and counts once', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.log.holdReading();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(999);
    expect(machine.stream.last).toBe(2);
    await machine.pass(2_100);
    expect(machine.stream.last).toBe(4);
    expect(machine.stream.at(3)).toEqual(machine.stream.at(2));
    expect(machine.stream.at(4)).toEqual(machine.stream.at(2));
    machine.log.release();
    await machine.pass(500);
    expect(write.state).toBe('done');
    expect(machine.stream.last).toBe(4);
    expect(machine.store.applied).toEqual([writes]);
    expect(machine.replicator.status.ignored).toBe(2);
  });

  it('is sent again 100 ms after the log has refused it', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.refuseAppends();
    const { length } = machine.log.sent;
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(350);
    expect(machine.log.sent).toHaveLength(length + 4);
    machine.acceptAppends();
    await machine.pass(100);
    expect(write.state).toBe('done');
    expect(new Set(machine.log.sent.slice(length)).size).toBe(1);
  });

  it('is refused without a lease, and written nowhere', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    await expect(machine.replicator.commit(writes)).rejects.toMatchObject({ code: 'not_active' });
    expect(machine.log.sent).toEqual([]);
  });

  it('is not sent again when its answer was lost and it was read back', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.log.faults = { ...machine.log.faults, lostAnswer: 1 };
    const { length } = machine.log.sent;
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(2_000);
    expect(write.state).toBe('done');
    expect(machine.log.sent).toHaveLength(length + 1);
  });

  it('is refused by a leader that has lapsed', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading({ beatMs: 1e9 });
    await machine.pass(10_000);
    expect(machine.replicator.status.state).toBe('leader');
    await expect(machine.replicator.commit(writes)).rejects.toMatchObject({ code: 'not_active' });
    expect(machine.stream.last).toBe(1);
  });

  it('renews the lease from when it was sent', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading({ beatMs: 1e9 });
    await machine.pass(5_000);
    machine.log.holdReading();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(900);
    machine.log.release();
    await machine.pass(9_099);
    expect(write.state).toBe('done');
    expect(() => machine.replicator.check()).not.toThrow();
    await machine.pass(1);
    expect(() => machine.replicator.check()).toThrow('no machine leads now');
  });

  it('of a deposed leader is refused, and never counts', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.refuseAppends();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    machine.append(machine.other.lead());
    await machine.pass(10);
    expect(write.state).toMatchObject(otherLeads);
    expect(machine.events).toEqual(['leading', 'deposed']);
    const { length } = machine.log.sent;
    // It was under way all the time.
    machine.append(machine.log.sent.at(-1)!);
    await machine.pass(3_000);
    expect(machine.log.sent).toHaveLength(length);
    expect(machine.store.applied).toEqual([]);
    expect(machine.replicator.status).toMatchObject({ state: 'standby', ignored: 1 });
  });

  it('of a leader that is deposed between two parts is refused', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading({ partBytes: 8 });
    machine.log.holdReading();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    const part = machine.stream.at(2);
    const other = machine.other;
    other.part(0, 1, Buffer.alloc(0));
    const lead = encodeEntry({ epoch: 2, n: 0, chain: otherChain, ...leadOf('other', 0) });
    machine.append(lead);
    expect(readEntry(part)?.content).toMatchObject({ part: 0 });
    machine.log.release();
    await machine.pass(10);
    expect(write.state).toMatchObject(otherLeads);
    expect(machine.log.sent.at(-1)).toBe(part);
    expect(machine.store.applied).toEqual([]);
  });

  it('in several parts is written one part after the other, and applied with the last', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading({ partBytes: 8 });
    const count = encodeWrites(writes, 8).length;
    expect(count).toBeGreaterThan(1);
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    expect(write.state).toBe('done');
    expect(machine.stream.last).toBe(1 + count);
    expect(machine.store.applied).toEqual([writes]);
    expect(machine.store.stored).toMatchObject({ seq: 1 + count, n: count });
  });

  it('whose leader died between two parts is applied on no machine, and the next leader writes', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading({ partBytes: 8 });
    machine.log.holdReading();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    machine.log.kill();
    machine.replicator.close();
    const next = new ReplicatorFixture('next');
    next.append(machine.stream.at(1), machine.stream.at(2));
    await next.leading();
    const after = watched(next.replicator.commit(others));
    await next.pass(10);
    expect([write.state, after.state]).toEqual(['waits', 'done']);
    expect(readEntry(next.stream.at(3))?.content).toMatchObject({ kind: 'lead', after: 1 });
    expect(next.store.applied).toEqual([others]);
  });

  it('is applied by a machine that takes over, also where a dead machine had written it', async () => {
    const machine = new ReplicatorFixture('next');
    const log = new LogWriter();
    machine.append(log.lead('dead'), log.tx(writes));
    log.part(0, 2, encodeWrites(others)[0]!.subarray(0, 3));
    machine.append(log.bodies.at(-1)!);
    await machine.leading();
    const write = watched(machine.replicator.commit(others));
    await machine.pass(10);
    expect(write.state).toBe('done');
    expect(machine.store.applied).toEqual([writes, others]);
    expect(machine.store.stored).toMatchObject({ seq: 5, epoch: 2, n: 1 });
  });

  it('that counted before another machine leads is done, also where it is stored only later', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.store.hold();
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    machine.append(machine.other.lead());
    await machine.pass(10);
    expect(machine.replicator.status.state).toBe('standby');
    expect(write.state).toBe('waits');
    // Now the disk is full: it is read and stored again.
    machine.store.error = new Error('the disk is full');
    machine.store.release();
    await machine.pass(500);
    expect(write.state).toBe('waits');
    machine.store.error = undefined;
    await machine.pass(2_000);
    expect(machine.store.applied).toEqual([writes]);
    expect(write.state).toBe('done');
    expect(machine.stops).toEqual([]);
  });
});
