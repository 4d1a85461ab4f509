/** The stores of a test's application, made once for all tests of a worker. */
import { getRandomValues } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { DataFolder } from '../../../src/engine/data-folder.ts';
import { openDeliveryTables } from '../../../src/store/delivery/delivery.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { makeSigningKeys } from '../../../src/workspaces/signing-keys.ts';

/** Of a data folder in which nothing was done yet. */
let emptyStores: readonly [management: Uint8Array, delivery: Uint8Array] | undefined;

/**
 * What a first start makes of the parts that these tests open. Each new table is a commit that waits for the disk, some
 * fifty of them: only the first of a worker makes them, the others begin with its files.
 */
export async function makeStores({
  path,
  managementFile,
  deliveryFile,
}: DataFolder): Promise<void> {
  if (existsSync(managementFile)) return;
  makeSigningKeys(path, (bytes) => getRandomValues(bytes));
  if (emptyStores !== undefined) {
    writeFileSync(managementFile, emptyStores[0]);
    writeFileSync(deliveryFile, emptyStores[1]);
    return;
  }
  await openManagement(managementFile, 'create').close();
  await openDeliveryTables(deliveryFile, 'create').environment.close();
  emptyStores = [readFileSync(managementFile), readFileSync(deliveryFile)];
}
