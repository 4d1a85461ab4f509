/** Opens the delivery environment, with the steps that lift older data. */
import type { OpenMode } from '../environment.ts';
import {
  checksumsFromHere,
  type EnvironmentVersion,
  type OnMigrated,
  openEnvironment,
} from '../open-environment.ts';
import { type DeliveryTables, deliveryTables } from './delivery.ts';
import { copyDeliveries, olderRows, rowsForExceptions } from './migration.ts';

export const deliveryVersion: EnvironmentVersion = {
  version: 3,
  migrations: [checksumsFromHere, rowsForExceptions],
  prepare: copyDeliveries,
  isShared: true,
};

/** Opens the environment; refuses data of a newer release. @param onMigrated for older data */
export function openDeliveryTables(
  path: string,
  mode: OpenMode = 'existing',
  onMigrated?: OnMigrated,
): DeliveryTables {
  const { environment, meta } = openEnvironment(path, deliveryVersion, mode, onMigrated);
  // For `verify`: what was damaged before version 3.
  if (environment.hasTable(olderRows)) environment.table(olderRows);
  return deliveryTables(environment, meta);
}
