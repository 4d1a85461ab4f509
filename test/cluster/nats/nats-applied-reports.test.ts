/** Reports of two machines over one broker, and what is no report. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Applied } from '../../../src/cluster/log/applied-reports.ts';
import { NatsAppliedReports } from '../../../src/cluster/nats/nats-applied-reports.ts';
import { openNats } from '../../../src/cluster/nats/nats-connection.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { startBrokers } from './brokers.ts';
import { findNatsServer, type NatsServer } from '../../../config/demo/nats-server.ts';
import { notRun } from './not-run.ts';

const subject = 'applied';
const found = await findNatsServer();

if ('missing' in found) {
  notRun('applied reports', found);
} else {
  it('a report reaches the other machines, not its own; what is no report reaches none', async () => {
    await reportsReachOthers(found);
  });
}

async function reportsReachOthers(server: NatsServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'qz-reports-'));
  const brokers = await startBrokers({ count: 1, folder, server });
  const open = (nodeName: string) => openNats({ servers: brokers.urls, nodeName });
  const connections = [await open('a'), await open('b')];
  try {
    const [a, b] = connections.map(
      (connection, at) =>
        new NatsAppliedReports({ connection, subject, nodeName: at === 0 ? 'a' : 'b' }),
    );
    const received: Record<string, Applied>[] = [];
    const stop = a!.listen(({ epoch, n }) => void received.push({ a: { epoch, n } }));
    b!.listen(({ epoch, n }) => void received.push({ b: { epoch, n } }));
    const [one, other] = connections;
    await Promise.all(
      connections.map(async (connection) => (await connection.ready(1_000)).client.flush()),
    );
    one!.publish(subject, Buffer.from('no report'));
    one!.publish(subject, packPlain(['c', 1]));
    one!.publish(subject, packPlain('c'));
    a!.report({ epoch: 1, n: 2 });
    await expect.poll(() => received).toEqual([{ b: { epoch: 1, n: 2 } }]);
    b!.report({ epoch: 1, n: 3 });
    await expect.poll(() => received.at(-1)).toEqual({ a: { epoch: 1, n: 3 } });
    stop();
    await (await one!.ready(1_000)).client.flush();
    b!.report({ epoch: 1, n: 4 });
    await (await other!.ready(1_000)).client.flush();
    expect(received.length).toBe(2);
  } finally {
    await Promise.all(connections.map((connection) => connection.close()));
    await brokers.close();
    rmSync(folder, { recursive: true });
  }
}
