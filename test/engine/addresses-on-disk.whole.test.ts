/**
 * How long a visitor's address and user agent stay on the disk: until the scan is counted, its journal file is
 * old enough to end, and no thread has it open any more.
 */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { journalFolder, segmentFile } from '../../src/scans/journal/segments.ts';
import { frameOf } from '../scans/journal-files.ts';
import { Client } from '../support/client.ts';
import { openFilesIn } from '../support/leaks.ts';
import { runCommand, withDataFolder, readMetrics } from '../support/process.ts';
import { readIfThere } from '../../src/engine/small-files.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

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
    const links = new Client(service.redirectUrl);
    const { status } = await links.call('GET', '/privacy', { headers: { 'user-agent': agent } });
    expect(status).toBe(302);
    await links.close();
  }
}

it('goes with the count, from backups, at a stop, while the service idles, and from what was left behind', async () => {
  await withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    const service = await TestService.start({ dataDir, environment });
    const { apiKey } = service;
    const client = new Client(service.apiUrl, apiKey);
    const body = { target: 'https://example.com/', slug: 'privacy' };
    const { id }: { id: string } = JSON.parse(
      (await client.call('POST', '/v1/qr-codes', { body })).text,
    );
    const scans = async (api: Client): Promise<number> =>
      Number((await api.call('GET', `/v1/qr-codes/${id}`)).json['scans']);
    await scan(service, 6);
    await expect.poll(async () => await scans(client), soon).toBe(6);
    // Counted, and for a minute still in the journals of the running service.
    expect(filesWithAgent(dataDir)).not.toEqual([]);
    const target = join(parent, 'backup');
    expect(await runCommand(['backup', target], { QZ_DATA_DIR: dataDir })).toMatchObject({
      code: 0,
    });
    expect(filesWithAgent(target)).toEqual([]);
    await client.close();
    await service.close();
    expect(filesWithAgent(dataDir)).toEqual([]);
    const other = join(parent, 'other');
    expect(await runCommand(['restore', target], { QZ_DATA_DIR: other })).toMatchObject({
      code: 0,
    });
    expect(filesWithAgent(other)).toEqual([]);

    // What a killed service has left, in a journal that no thread of today writes.
    const left = journalFolder(join(dataDir, 'journal'), 7);
    mkdirSync(left, { recursive: true });
    const frames = Array.from({ length: 4 }, () => frameOf(1, 1, agent));
    writeFileSync(segmentFile(left, 0), Buffer.concat(frames));
    expect(filesWithAgent(dataDir)).not.toEqual([]);
    const short = { ...environment, QZ_SCANS_SEGMENT_MS_MAX: '300' };
    const again = await TestService.start({ dataDir, environment: short, apiKey });
    const api = new Client(again.apiUrl, apiKey);
    await scan(again, 6);
    await expect.poll(async () => await scans(api), soon).toBe(16);
    // No scan comes any more: time alone ends the files of both threads.
    await expect.poll(() => filesWithAgent(dataDir), soon).toEqual([]);
    const metrics = () => readMetrics(again.apiUrl);
    await expect
      .poll(metrics, soon)
      .toMatch(/^quietzone_journal_oldest_seconds\{journal="0"\} 0$/m);
    await api.close();
    await again.close();
  });
});
