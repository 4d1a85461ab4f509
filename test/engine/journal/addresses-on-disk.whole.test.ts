/**
 * How long a visitor's address and user agent stay on the disk: until the scan is counted, its journal file is
 * old enough to end, and no thread has it open any more.
 */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { journalFolder, segmentFile } from '../../../src/engine/journal/segments.ts';
import { frameOf } from './journal-files.ts';
import { openFilesIn } from '../../support/leaks.ts';
import { runCommand, withDataFolder } from '../../support/process.ts';
import { readIfThere } from '../../../src/platform/small-files.ts';
import { soon } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';

const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Firefox/126.0 of-this-test';
const environment = { QZ_REDIRECT_THREADS: '2' };

/** Files that hold the agent, those that are deleted and still open included. */
function filesWithAgent(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const found = files.filter((name) => {
    const path = join(folder, name);
    // A running service deletes files meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
    return readIfThere(path)?.includes('of-this-test') === true;
  });
  return [...found, ...openFilesIn(folder).filter((name) => name.endsWith('.log (deleted)'))];
}

async function scan(service: TestService, times: number): Promise<void> {
  // A connection each: the kernel deals them out to the threads.
  for (let time = 0; time < times; time++) {
    await service.scan('privacy', 1, { 'user-agent': agent });
    await service.closeClients();
  }
}

it('goes with the count, from backups, at a stop, while the service idles, and from what was left behind', () =>
  withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    const service = await TestService.start({ dataDir, environment });
    const { apiKey } = service;
    const code = await service.makeCode({ slug: 'privacy' });
    await scan(service, 6);
    await expect.poll(() => service.scansOf(code), soon).toBe(6);
    // Counted, and for a minute still in the journals of the running service.
    expect(filesWithAgent(dataDir)).not.toEqual([]);
    const [target, other] = [join(parent, 'backup'), join(parent, 'other')];
    const taken = await runCommand(['backup', target], { QZ_DATA_DIR: dataDir });
    expect([taken.code, filesWithAgent(target)]).toEqual([0, []]);
    await service.close();
    expect(filesWithAgent(dataDir)).toEqual([]);
    const restored = await runCommand(['restore', target], { QZ_DATA_DIR: other });
    expect([restored.code, filesWithAgent(other)]).toEqual([0, []]);

    // What a killed service has left, in a journal that no thread of today writes.
    const left = journalFolder(join(dataDir, 'journal'), 7);
    mkdirSync(left, { recursive: true });
    const frames = Array.from({ length: 4 }, () => frameOf(1, 1, agent));
    writeFileSync(segmentFile(left, 0), Buffer.concat(frames));
    expect(filesWithAgent(dataDir)).not.toEqual([]);
    const short = { ...environment, QZ_SCANS_SEGMENT_MS_MAX: '300' };
    const again = await TestService.start({ dataDir, environment: short, apiKey });
    await scan(again, 6);
    await expect.poll(() => again.scansOf(code), soon).toBe(16);
    // No scan comes any more: time alone ends the files of both threads.
    await expect.poll(() => filesWithAgent(dataDir), soon).toEqual([]);
    const oldest = /^quietzone_journal_oldest_seconds\{journal="0"\} 0$/m;
    await expect.poll(() => again.metrics(), soon).toMatch(oldest);
    await again.close();
  }));
