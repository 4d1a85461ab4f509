/**
 * Two cores are started for the first time, and one is killed when it has read the log, before it is registered: it must
 * not count from what is left of the scans when it comes again. Registered where a nats-server is found.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { NatsLog } from '../../src/cluster/nats/nats-log.ts';
import { openNats } from '../../src/cluster/nats/nats-connection.ts';
import { scanStream, scanSubject } from '../../src/cluster/scans/scan-channels.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { word } from '../support/client.ts';
import { pause } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import {
  codeOf,
  createCluster,
  scansCounted,
  type StartedCluster,
  type TestNode,
} from './started-cluster.ts';

const target = 'https://example.com/';
const scans = 5;

/** As the leader does every ten seconds, when all registered cores have them. */
async function removeScans({ brokers }: StartedCluster): Promise<void> {
  const connection = await openNats({ servers: brokers.urls, nodeName: 'test' });
  const subject = scanSubject('test');
  const log = new NatsLog({ connection, stream: scanStream, subject });
  try {
    await expect.poll(async () => (await log.bounds()).last, soon).toBeGreaterThan(0);
    await log.prune(Infinity);
  } finally {
    await log.close();
    await connection.close();
  }
}

/** @returns the one that is registered, and the one that was killed before it was */
async function startedAndCut(
  cluster: StartedCluster,
): Promise<readonly [first: TestNode, cut: TestNode]> {
  for (const core of cluster.cores) core.start();
  for (;;) {
    const [isFirst, isSecond] = cluster.cores.map((core) =>
      existsSync(join(word(core.environment['QZ_DATA_DIR']), 'cluster.json')),
    );
    if (isFirst === true || isSecond === true) {
      const [one, other] = cluster.cores;
      const [first, cut] = isFirst === true ? [one, other] : [other, one];
      await cut.kill();
      return [first, cut];
    }
    await pause(1);
  }
}

const server = await findNatsServer();
if ('missing' in server) {
  notRun('first starts that are cut', server);
} else {
  test('a first start that was cut while another core went on copies that one, and has all scans when it leads', async () => {
    const cluster = await createCluster(server);
    onTestFinished(() => cluster.close());
    const [first, cut] = await startedAndCut(cluster);
    onTestFinished(async () => {
      await Promise.all([first.kill(), cut.kill()]);
    });
    await first.service.ready();
    const key = first.service.apiKey;
    const made = await first.client(key).call('POST', '/v1/qr-codes', { body: { target } });
    const code = codeOf(made.json);
    for (let no = 0; no < scans; no++) {
      expect(await first.scan(code.shortCode)).toBe(target);
    }
    const countedBy = (node: TestNode): Promise<unknown> => scansCounted(node.client(key), code);
    await expect.poll(() => countedBy(first), soon).toBe(scans);
    await removeScans(cluster);

    await cut.start().ready();
    await first.kill();
    await expect.poll(() => cut.role(), soon).toBe('active');
    await expect.poll(() => countedBy(cut), soon).toBe(scans);
  });
}
