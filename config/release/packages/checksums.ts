/** `SHA256SUMS`: a line per artifact, in the form that `sha256sum -c` reads in the folder where it lies. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Hexadecimal; read in pieces, because an artifact may be larger than memory allows. */
async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Writes `SHA256SUMS` into `folder`, over the files named and nothing else: paths relative to it, sorted. */
export async function writeChecksums(folder: string, paths: readonly string[]): Promise<void> {
  const lines: string[] = [];
  for (const path of paths.toSorted())
    lines.push(`${await sha256Of(join(folder, path))}  ${path}\n`);
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''));
}
