/** Data of an older format in the folder of a node: what its log shares is not migrated by one node alone. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { expect, test } from 'vitest';
import { EnvironmentStore } from '../../src/cluster/log/environment-store.ts';
import { writeNodeFile } from '../../src/cluster/nodes/node-file.ts';
import { deliveryVersion, openDeliveryTables } from '../../src/store/delivery/open-delivery.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { managementVersion, openManagement } from '../../src/store/management/management.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { makeOlder } from './older-data.ts';
import { temporaryFolder } from './temporary-management.ts';

const stores = {
  management: [openManagement, managementVersion.version],
  delivery: [openDeliveryTables, deliveryVersion.version],
} as const;
type Kind = keyof typeof stores;

/** As a core leaves it: the log is followed, and the data is of an older release. */
async function olderCore(kind: Kind): Promise<string> {
  const folder = temporaryFolder();
  const path = join(folder, `${kind}.mdb`);
  const [openStore] = stores[kind];
  await openStore(path, 'create').environment.close();
  const environment = new StoreEnvironment(path);
  expect(new EnvironmentStore(environment).position().seq).toBe(0);
  await environment.close();
  await makeOlder(path, kind);
  writeNode(folder, 'all');
  return path;
}

const writeNode = (folder: string, role: 'all' | 'edge'): void =>
  writeNodeFile(folder, { cluster: 'cl_1', node: 'n_1', name: 'a', role, journals: [1], run: 1 });

async function versionOf(path: string): Promise<number | undefined> {
  const root = open({ path, noSubdir: true, maxDbs: 64 });
  const version = root.openDB<number, string>({ name: 'meta' }).get('schema');
  await root.close();
  return version;
}

test.each(['management', 'delivery'] as const)('%s.mdb of a core is refused', async (kind) => {
  const path = await olderCore(kind);
  const [openStore, expected] = stores[kind];
  const found = await versionOf(path);
  for (const mode of ['existing', 'create'] as const) {
    expect(() => openStore(path, mode)).toThrow(
      `Cannot open ${path}: its data has version ${found}, and this release writes version ${expected}. The folder is of a node of a cluster, and a cluster's data cannot be migrated yet`,
    );
  }
  expect(await versionOf(path)).toBe(found);
});

test('it is migrated where no log decides: an edge, and a machine alone with the data of a core', async () => {
  const path = await olderCore('management');
  const alone = join(temporaryFolder(), 'management.mdb');
  copyFileSync(path, alone);
  await openManagement(alone).close();
  expect(await versionOf(alone)).toBe(managementVersion.version);
  const folder = temporaryFolder();
  const edge = join(folder, 'management.mdb');
  await openManagement(edge, 'create').close();
  await makeOlder(edge, 'management');
  writeNode(folder, 'edge');
  await openManagement(edge).close();
  expect(await versionOf(edge)).toBe(managementVersion.version);
});

test('scans.mdb is each core’s own, and is migrated', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'scans.mdb');
  await openScanStore(path, 'create').environment.close();
  await makeOlder(path, 'scans');
  writeNode(folder, 'all');
  await openScanStore(path).environment.close();
});
