/**
 * The access version: a number that every change of workspaces, memberships and keys raises in its transaction. A permission that
 * was checked under one version is valid until the number differs, so a request reads one small value instead of four records.
 */
import type { Management } from '../../store/management/management.ts';

const accessKey = 'version:access';

export function accessVersion(store: Management): number {
  return store.meta.get(accessKey) ?? 0;
}

/** Inside the transaction of the change. */
export function raiseAccessVersion(store: Management): void {
  store.meta.put(accessKey, accessVersion(store) + 1);
}
