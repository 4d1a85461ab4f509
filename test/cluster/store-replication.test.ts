/**
 * src/cluster/store-replication.ts where brokers are away or will not do: what is refused, what an operator is told, and
 * that nothing of it is left at a close. With a broker: test/node/three-nodes.cluster.test.ts.
 */
import { onTestFinished, expect, test } from 'vitest';
import { beginNats } from '../../src/cluster/nats/nats-connection.ts';
import { StoreReplication } from '../../src/cluster/store-replication.ts';
import { systemTimers } from '../../src/system-clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { freePorts } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { temporaryManagement } from '../store/temporary-management.ts';

async function open(server: string) {
  const { store } = temporaryManagement();
  const connection = beginNats({ servers: [server], nodeName: 'core-1' });
  const changes: string[] = [];
  const replication = new StoreReplication({
    environment: store.environment,
    connection,
    name: 'core',
    replicas: 1,
    self: { owner: 'core-1.n_1', url: 'http://core-1', version: '1' },
    timers: systemTimers,
    random: () => 0.5,
    log: createLog('silent'),
    onChanged: () => void changes.push(replication.status.state),
  });
  const close = async (): Promise<void> => {
    replication.close();
    await connection.close();
  };
  onTestFinished(close);
  return { store, replication, changes, close };
}

test('while no broker is there it follows nothing, refuses changes, and says why', async () => {
  const { api } = await freePorts();
  const { store, replication, changes, close } = await open(`nats://127.0.0.1:${api}`);
  const change = (): Promise<unknown> => store.environment.transaction(() => store.next('code'));
  await expect(change()).rejects.toMatchObject({ code: 'not_active' });
  replication.start();
  await expect.poll(() => replication.problem, soon).toMatch(/Cannot reach|reached/);
  await expect(change()).rejects.toMatchObject({ code: 'not_active' });
  expect(replication.isHeld).toBe(false);
  expect(replication.status.leader).toBeUndefined();
  await close();
  await expect(change()).rejects.toMatchObject({ code: 'not_active' });
  expect([store.last('code'), changes]).toEqual([0, []]);
});
