import { describe, expect, it } from 'vitest';
import { encodeWrites } from '../../../src/cluster/log/entry.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import { LogWriter } from './log-writer.ts';
import { ReplicatorFixture } from './replicator-fixture.ts';

const writes: StoredWrite[] = [['numbers', 'a', Buffer.from('1')]];
const others: StoredWrite[] = [['numbers', 'b', Buffer.from('2')]];

describe('a standby', () => {
  it('that cannot apply tries again each second, does not lead, and catches up', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    const log = new LogWriter();
    machine.append(log.lead(), log.tx(writes));
    await machine.pass(10);
    machine.store.error = new Error('the disk is full');
    machine.append(log.tx(others), log.tx(writes));
    await machine.pass(60_000);
    expect(machine.store.applied).toEqual([writes]);
    expect(machine.replicator.status.restarts).toBeGreaterThanOrEqual(55);
    expect(machine.replicator.status.restarts).toBeLessThanOrEqual(60);
    expect(machine.log.sent).toEqual([]);
    expect(machine.stops).toEqual([]);
    machine.store.error = undefined;
    await machine.pass(1_100);
    expect(machine.store.applied).toEqual([writes, others, writes]);
  });

  it('reads no further while 32 MiB wait to be stored', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.store.hold();
    const log = new LogWriter();
    machine.append(log.lead());
    const value = Buffer.alloc(8 * 1_048_576);
    const [large] = encodeWrites([['numbers', 'a', value]], Infinity);
    for (let count = 0; count < 6; count++) machine.append(log.part(0, 1, large!));
    await machine.pass(3_000);
    expect(machine.replicator.status.position.n).toBe(4);
    machine.store.release();
    await machine.pass(10);
    expect(machine.store.applied).toHaveLength(6);
    expect(machine.store.stored).toMatchObject({ seq: 7, n: 6 });
  });

  it('claims no lead while what counted is not stored', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.store.hold();
    const log = new LogWriter();
    machine.append(log.lead(), log.tx(writes));
    await machine.pass(30_000);
    expect(machine.log.sent).toEqual([]);
    machine.store.release();
    await machine.pass(1_000);
    expect(machine.events).toEqual(['leading']);
  });

  it('claims no lead while beats count', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    const log = new LogWriter();
    machine.append(log.lead());
    for (let count = 1; count <= 4; count++) {
      await machine.pass(9_000);
      machine.append(log.beat(count));
    }
    await machine.pass(9_000);
    expect(machine.log.sent).toEqual([]);
    await machine.pass(2_000);
    expect(machine.log.sent).toHaveLength(1);
  });

  it('leads only when its own lead is stored', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.store.hold();
    await machine.pass(10_510);
    expect(machine.stream.last).toBe(1);
    expect(machine.events).toEqual([]);
    machine.store.release();
    await machine.pass(10);
    expect(machine.events).toEqual(['leading']);
  });

  it('does not lead with a lead that another has followed before it was stored', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.store.hold();
    await machine.pass(10_510);
    machine.append(machine.other.lead());
    await machine.pass(10);
    machine.store.release();
    await machine.pass(1_000);
    expect(machine.events).toEqual([]);
    expect(machine.replicator.status).toMatchObject({
      state: 'standby',
      leader: { owner: 'other' },
    });
  });
});
