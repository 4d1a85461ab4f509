/** First starts of cores on one broker: one begins the cluster, also after an interruption; the others copy. */
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
import { type DataFolder, openDataFolder } from '../../src/engine/data-folder.ts';
import { beginInstallation } from '../../src/engine/installation/installation.ts';
import { thisMachine } from '../../src/modules.ts';
import { connectNode } from '../../src/node/context.ts';
import { joinAsCore } from '../../src/node/join-as-core.ts';
import { withEnvironment } from '../../src/store/environment.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startBrokers } from '../cluster/nats/brokers.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { pause } from '../support/process.ts';
import { TestNode } from './started-cluster.ts';

interface Core {
  readonly folder: DataFolder;
  /** Resolves to undefined once it waits for a core to copy. */
  start(): Promise<NodeIdentity | undefined>;
}

async function open(server: NatsServer): Promise<(name: string) => Promise<Core>> {
  const root = mkdtempSync(join(tmpdir(), 'quietzone-first-starts-'));
  const brokers = await startBrokers({ count: 1, folder: join(root, 'brokers'), server });
  onTestFinished(async () => {
    await brokers.close();
    rmSync(root, { recursive: true });
  });
  return async (name) => {
    const { environment } = await TestNode.create(root, name, 'all', brokers.urls);
    const config = loadConfig(undefined, environment);
    const folder = openDataFolder(config.dataDir);
    await beginInstallation(folder);
    const start = async (): Promise<NodeIdentity | undefined> => {
      const stopping = new AbortController();
      const context = connectNode(config, createLog('silent'), thisMachine, stopping.signal);
      const joined = joinAsCore(context, folder).catch(() => undefined);
      const untilCopying = async (): Promise<undefined> => {
        while (!stopping.signal.aborted && !isCopying(folder)) await pause(20);
        return undefined;
      };
      const first = await Promise.race([joined, untilCopying()]);
      stopping.abort();
      await joined;
      await context.connection.close();
      return first;
    };
    return { folder, start };
  };
}

async function beginsOnce(server: NatsServer): Promise<void> {
  const create = await open(server);
  const cores = [await create('core-1'), await create('core-2'), await create('core-3')];
  const started = await Promise.all(cores.map((core) => core.start()));
  const first = started.findIndex((identity) => identity !== undefined);
  expect(started.filter((identity) => identity !== undefined)).toHaveLength(1);
  const core = cores[first]!;
  const { folder } = core;
  expect(readNodeFile(folder.path)).toEqual(started[first]);
  for (const other of cores) expect(isCopying(other.folder)).toBe(other !== core);

  // It was killed before it had written that the cluster began with its data.
  rmSync(join(folder.path, nodeFileName));
  const again = await core.start();
  expect(again).toMatchObject({ name: started[first]?.name, run: 1 });
  expect(again?.journals).not.toEqual(started[first]?.journals);
  const position = await withEnvironment(folder.managementFile, 'existing', (environment) =>
    new EnvironmentStore(environment).position(),
  );
  expect(position).toMatchObject({ seq: 1, epoch: 1 });
  expect(isCopying(folder)).toBe(false);
}

const found = await findNatsServer();
if ('missing' in found) notRun('first starts of cores', found);
else {
  test('of cores that start at once one begins the cluster, also after it was killed', () =>
    beginsOnce(found));
}
