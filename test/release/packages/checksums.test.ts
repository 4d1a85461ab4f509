import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeChecksums } from '../../../config/release/packages/checksums.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-release-'));
  mkdirSync(join(folder, 'linux-x64'));
  writeFileSync(join(folder, 'linux-x64/quietzone'), 'program');
  writeFileSync(join(folder, 'a'), '');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('a line per file, sorted, in the form that sha256sum reads', async () => {
  const of = (text: string): string => createHash('sha256').update(text).digest('hex');
  const expected = `${of('')}  a\n${of('program')}  linux-x64/quietzone\n`;
  for (const _ of ['first', 'again']) {
    await writeChecksums(folder, ['linux-x64/quietzone', 'a']);
    expect(readFileSync(join(folder, 'SHA256SUMS'), 'utf8')).toBe(expected);
  }
});
