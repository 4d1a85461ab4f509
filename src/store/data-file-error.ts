/** A data file that this program cannot use: what LMDB itself finds wrong with it, or data of a newer release. */

/** The message names the file, for the operator. */
export class DataFileError extends Error {
  override readonly name = 'DataFileError';
}

/**
 * LMDB's own codes of a file that it cannot use: MDB_PAGE_NOTFOUND, MDB_CORRUPTED, MDB_VERSION_MISMATCH, MDB_INVALID
 * and MDB_INCOMPATIBLE.
 */
const damagedCodes: ReadonlySet<unknown> = new Set([-30_797, -30_796, -30_794, -30_793, -30_784]);

export const isDamagedFile = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && damagedCodes.has(error.code);

/** Such an error with the file and what helps; another one as it is. */
export function fileError(path: string, error: unknown): unknown {
  if (!isDamagedFile(error)) return error;
  return new DataFileError(
    `Cannot read ${path}: ${error.message}; restore a backup (\`quietzone restore\`)`,
    { cause: error },
  );
}
