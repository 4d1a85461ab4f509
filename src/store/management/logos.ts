/**
 * The logos of workspaces, in the management environment; the pictures are the images module's.
 *
 *   logos         [workspaceNo, name]   -> StoredLogo
 *   logo_owners   [name, workspaceNo]   -> 1: several workspaces may own the same picture
 *   logo_files    name                  -> the picture, PNG: in a cluster, where no file of one machine will do
 *
 * A name is 32 hexadecimal digits of the picture's SHA-256.
 */
import type { StoreEnvironment } from '../environment.ts';

export interface StoredLogo {
  readonly width: number;
  readonly height: number;
  /** Of the stored file. */
  readonly bytes: number;
  readonly createdAtMs: number;
}

export function openLogoTables(environment: StoreEnvironment) {
  return {
    logos: environment.table<[number, string], StoredLogo>('logos'),
    owners: environment.set<[string, number]>('logo_owners'),
    files: environment.table<string, Uint8Array>('logo_files', { value: 'binary' }),
  };
}
