/** A bulk request: the file is sent unchanged. */
import { send } from './http.ts';

export interface RowError {
  readonly index: number;
  readonly code: string;
  readonly detail: string;
}

export interface BulkResult {
  readonly created: number;
  readonly failed: number;
  /** The first 200. */
  readonly errors: readonly RowError[];
}

interface Answer {
  readonly created: number;
  readonly failed: number;
  readonly results: ReadonlyArray<{
    readonly index: number;
    readonly error?: {
      readonly code: string;
      readonly detail: string;
      readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>;
    };
  }>;
}

const errorsShownMax = 200;

/** @throws Problem */
export async function createMany(file: {
  readonly data: Blob;
  readonly type: string;
}): Promise<BulkResult> {
  const response = await send('POST', '/qr-codes/bulk', { raw: file });
  const { created, failed, results }: Answer = await response.json();
  const errors = results.flatMap(({ index, error }) => {
    if (error === undefined) return [];
    const faults = error.errors?.map(({ path, message }) => `${path}: ${message}`).join('. ');
    return [{ index, code: error.code, detail: faults || error.detail }];
  });
  return { created, failed, errors: errors.slice(0, errorsShownMax) };
}
