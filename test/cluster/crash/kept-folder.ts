/** The folder of a run: what failed is kept, to be looked into. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Run<Result> {
  run(): Promise<Result>;
  close(): Promise<unknown>;
}

/** Runs in a new folder, which is removed unless the result has `evidence`. */
export async function runInFolder<Result extends { readonly evidence: string | undefined }>(
  prefix: string,
  open: (folder: string) => Run<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const run = open(folder);
  try {
    const result = await run.run();
    if (result.evidence === undefined) rmSync(folder, { recursive: true });
    return result;
  } finally {
    await run.close();
  }
}
