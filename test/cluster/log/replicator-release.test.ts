/** A machine gives the lead away, or has it given. The lease is 10 s. */
import { describe, expect, it } from 'vitest';
import { encodeWrites, readEntry } from '../../../src/cluster/log/entry.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import { noFaults } from './faulty-log.ts';
import { ReplicatorFixture, watched } from './replicator-fixture.ts';

const writes: StoredWrite[] = [['numbers', 'a', Buffer.from('1')]];
const others: StoredWrite[] = [['numbers', 'b', Buffer.from('2')]];

/** Of all that a machine has sent. */
const kindsOf = ({ log }: ReplicatorFixture): Array<string | undefined> =>
  log.sent.map((body) => readEntry(body)?.content?.kind);

describe('release', () => {
  it('refuses writes at once, and resolves when it counts', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.log.holdReading();
    const released = watched(machine.replicator.release('next'));
    expect(machine.replicator.isHeld).toBe(false);
    await expect(machine.replicator.commit(writes)).rejects.toMatchObject({ code: 'not_active' });
    await machine.pass(10);
    expect(released.state).toBe('waits');
    machine.log.release();
    await machine.pass(10);
    expect(released.state).toBe('done');
    expect(kindsOf(machine)).toEqual(['lead', 'release']);
    expect(machine.events).toEqual(['leading', 'deposed']);
    expect(machine.replicator.status.state).toBe('standby');
  });

  it('comes after the batch that is under way, all parts of it', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading({ partBytes: 8 });
    const count = encodeWrites(writes, 8).length;
    expect(count).toBeGreaterThan(1);
    machine.refuseAppends();
    const write = watched(machine.replicator.commit(writes));
    const released = watched(machine.replicator.release());
    const again = watched(machine.replicator.release('another'));
    await machine.pass(500);
    expect([write.state, released.state]).toEqual(['waits', 'waits']);
    expect(kindsOf(machine)).not.toContain('release');
    machine.acceptAppends();
    await machine.pass(200);
    expect([write.state, released.state, again.state]).toEqual(['done', 'done', 'done']);
    expect(machine.stream.last).toBe(1 + count + 1);
    const last = readEntry(machine.stream.at(2 + count))!;
    expect(last).toMatchObject({ head: { n: count }, content: { kind: 'release', to: '' } });
    expect(machine.store.applied).toEqual([writes]);
  });

  it('that is lost is sent again, and is over when another leads, when it is closed, and where it does not lead', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    machine.log.faults = { ...noFaults, lostAppend: 1 };
    const released = watched(machine.replicator.release());
    await machine.pass(9_000);
    expect(kindsOf(machine)).toEqual(['lead', 'release', 'release', 'release']);
    machine.append(machine.other.lead());
    await machine.pass(10);
    expect(released.state).toBe('done');
    expect(machine.events).toEqual(['leading', 'deposed']);

    const closing = new ReplicatorFixture();
    await closing.leading();
    closing.refuseAppends();
    const ended = watched(closing.replicator.release());
    await closing.pass(10);
    expect(ended.state).toBe('waits');
    closing.replicator.close();
    await closing.pass(10_000);
    expect(ended.state).toBe('done');
    expect(kindsOf(closing)).toEqual(['lead', 'release']);
    const none = watched(closing.replicator.release());
    await closing.pass(0);
    expect(none.state).toBe('done');
  });

  it('is over for one lead: a later one is given away anew', async () => {
    const machine = new ReplicatorFixture();
    await machine.leading();
    await Promise.all([machine.replicator.release(), machine.pass(10)]);
    await machine.pass(30_000);
    const write = watched(machine.replicator.commit(writes));
    await machine.pass(10);
    expect(write.state).toBe('done');
    const released = watched(machine.replicator.release());
    await machine.pass(10);
    expect(released.state).toBe('done');
    expect(machine.events).toEqual(['leading', 'deposed', 'leading', 'deposed']);
  });
});

describe('a standby', () => {
  it('leads at once after a release, with all that counted before', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.append(machine.other.lead());
    await machine.pass(10);
    const { other } = machine;
    machine.append(other.tx(writes), other.release());
    await machine.pass(20);
    const write = watched(machine.replicator.commit(others));
    await machine.pass(20);
    expect(write.state).toBe('done');
    expect(machine.store.applied).toEqual([writes, others]);
  });

  it('that is started anew reads a release that it had read', async () => {
    const first = new ReplicatorFixture();
    first.start();
    first.append(first.other.lead());
    await first.pass(10);
    const { other } = first;
    first.append(other.tx(writes), other.beat(), other.release('gone'), other.beat());
    await first.pass(10);
    const again = new ReplicatorFixture('again');
    again.store.stored = first.store.stored;
    for (let seq = 1; seq <= first.stream.last; seq++) again.append(first.stream.at(seq));
    again.start();
    await again.pass(10);
    again.append(other.release('again'), other.beat());
    await again.pass(9_000);
    // What names another is no reason to claim; of several releases the first one counts.
    expect(kindsOf(again)).toEqual([]);
    await again.pass(2_000);
    expect(again.events).toEqual(['leading']);
  });

  it('ignores a release of a former epoch', async () => {
    const machine = new ReplicatorFixture();
    machine.start();
    machine.append(machine.other.lead());
    await machine.pass(10);
    const late = machine.other.release();
    machine.append(machine.other.lead());
    await machine.pass(10);
    machine.append(late);
    await machine.pass(5_000);
    expect(kindsOf(machine)).toEqual([]);
    expect(machine.replicator.status.ignored).toBe(1);
  });
});
