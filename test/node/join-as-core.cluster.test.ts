/** The first start of a core that begins a cluster, also after an interruption. Several at once: three-nodes.cluster.test.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer, type NatsServer } from '../../config/demo/nats-server.ts';
import { isCopying } from '../../src/cluster/copy/copy-receiver.ts';
import { EnvironmentStore } from '../../src/cluster/log/environment-store.ts';
import {
  type NodeIdentity,
  nodeFileName,
  readNodeFile,
} from '../../src/cluster/nodes/node-file.ts';
import { loadConfig } from '../../src/config.ts';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { beginInstallation } from '../../src/engine/installation/installation.ts';
import { thisMachine } from '../../src/modules.ts';
import { connectNode } from '../../src/node/context.ts';
import { joinAsCore } from '../../src/node/join-as-core.ts';
import { withEnvironment } from '../../src/store/environment.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { notRun, startBrokers } from '../cluster/nats/brokers.ts';
import { TestNode } from './started-cluster.ts';

async function beginsOnce(server: NatsServer): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'quietzone-first-starts-'));
  const brokers = await startBrokers({ count: 1, folder: join(root, 'brokers'), server });
  onTestFinished(async () => {
    await brokers.close();
    rmSync(root, { recursive: true });
  });
  const { environment } = await TestNode.create(root, 'core-1', 'all', brokers.urls);
  const config = loadConfig(undefined, environment);
  const folder = openDataFolder(config.dataDir);
  await beginInstallation(folder);
  const start = async (): Promise<NodeIdentity> => {
    const context = connectNode(config, createLog('silent'), thisMachine);
    const joined = await joinAsCore(context, folder);
    await context.connection.close();
    return joined;
  };
  const first = await start();
  expect(readNodeFile(folder.path)).toEqual(first);

  // It was killed before it had written that the cluster began with its data.
  rmSync(join(folder.path, nodeFileName));
  const again = await start();
  expect(again).toMatchObject({ name: 'core-1', run: 1 });
  expect(again.journals).not.toEqual(first.journals);
  const position = await withEnvironment(folder.managementFile, 'existing', (opened) =>
    new EnvironmentStore(opened).position(),
  );
  expect(position).toMatchObject({ seq: 1, epoch: 1 });
  expect(isCopying(folder)).toBe(false);
}

const found = await findNatsServer();
if ('missing' in found) notRun('the first start of a core', found);
else {
  test('a core begins the cluster, also after it was killed', () => beginsOnce(found));
}
