import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { ensureStream } from '../../../src/cluster/nats/nats-stream.ts';
import type { Brokers } from '../../../config/demo/brokers.ts';
import { notRun, openNats, startBrokers } from './brokers.ts';
import { findNatsServer, type NatsServer } from '../../../config/demo/nats-server.ts';
import { orderedLogContract } from '../log/ordered-log-contract.ts';

const found = await findNatsServer();

if ('missing' in found) {
  notRun('ordered log: NATS', found);
} else {
  contractOn(found, 'one subject');
  contractOn(found, 'a subject for each node');
}

/** All its logs on one broker, and on the connections of two machines. */
function contractOn(server: NatsServer, subjects: 'one subject' | 'a subject for each node'): void {
  let folder: string;
  let brokers: Brokers;
  const connections: NatsConnection[] = [];
  let count = 0;

  const start = async (): Promise<void> => {
    folder = mkdtempSync(join(tmpdir(), 'qz-nats-log-'));
    brokers = await startBrokers({ count: 1, folder, server });
    for (const nodeName of ['a', 'b']) {
      connections.push(await openNats({ servers: brokers.urls, nodeName }));
    }
  };

  orderedLogContract({
    name: `NATS ${server.version}, ${subjects}`,
    start,
    end: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await brokers.close();
      rmSync(folder, { recursive: true });
    },
    open: async () => {
      count++;
      const stream = `S${count}`;
      const own = subjects === 'a subject for each node';
      const subject = own ? `s.${count}.>` : `s.${count}`;
      await ensureStream(connections[0]!, { stream, subject, replicas: 1 });
      let handles = 0;
      return () => {
        const connection = connections[handles % 2]!;
        const to = own ? `s.${count}.n${handles}` : subject;
        handles++;
        return new NatsLog({ connection, stream, subject: to });
      };
    },
  });
}
