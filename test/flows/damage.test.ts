/**
 * Bytes of a journal segment and of a record flip between a stop and a start: sound frames are counted to the last scan,
 * damage is reported in log, health and metrics, and nothing becomes a wrong answer.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { partitionOf } from '../../src/model/code.ts';
import {
  journalFolder,
  listSegments,
  recoverJournal,
  segmentFile,
} from '../../src/scans/journal/segments.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { JournalWriter } from '../../src/scans/journal/writer.ts';
import { frameHeaderBytes, ScanBatch } from '../../src/scans/record.ts';
import { Client, word } from '../support/client.ts';
import { expectCleanLog } from '../support/log-hygiene.ts';
import { freePorts, withDataFolder, readMetrics } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { TestService } from '../support/test-service.ts';

const agent = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1';
const frames = 8;
const scansPerFrame = 5;
const journal = 0;
/** The first code of a data folder, of its first workspace. */
const codeNo = 1;

it(
  'counts every sound frame, reports the damaged ones, and guesses nothing',
  { timeout: 180_000 },
  () =>
    withDataFolder(async (dataDir) => {
      const environment = { QZ_REDIRECT_THREADS: '1' };
      const ports = await freePorts();
      const first = await TestService.start({ dataDir, ports, environment });
      const { apiKey } = first;
      const client = new Client(first.apiUrl, apiKey);
      const body = { target: 'https://example.com/' };
      const [{ id }, { id: damagedId }] = [
        (await client.call('POST', '/v1/qr-codes', { body })).json,
        (await client.call('POST', '/v1/qr-codes', { body })).json,
      ];
      await first.close();
      const stored = new StoredBytes(join(dataDir, 'management.mdb'));
      stored.flip('codes', stored.keys('codes')[1]!, 77);
      await stored.close();

      const starts = await writeFrames(dataDir);
      flip(dataDir, starts, 2, frameHeaderBytes + 40);
      flip(dataDir, starts, 4, 9);
      flip(dataDir, starts, frames - 1, frameHeaderBytes + 3);

      const second = await TestService.start({ dataDir, ports, environment });
      const soundScans = (frames - 3) * scansPerFrame;
      const path = `/v1/qr-codes/${word(id)}`;
      const scans = async (): Promise<number> =>
        Number((await client.call('GET', path)).json['scans']);
      await expect.poll(scans, soon).toBeGreaterThanOrEqual(soundScans);
      await expect.poll(() => second.stderr, soon).toContain('a journal is damaged');
      expect(await scans()).toBe(soundScans);
      const analytics = await client.call('GET', `${path}/analytics?from=2020-01-01`);
      expect(analytics.json['devices']).toEqual({ ios: soundScans, android: 0, other: 0 });
      for (let round = 0; round < 2; round++) {
        const refused = await client.call('GET', `/v1/qr-codes/${word(damagedId)}`);
        expect([refused.status, refused.json['code']]).toEqual([503, 'data_damaged']);
      }
      const ready = await client.call('GET', '/health/ready');
      expect([ready.status, ready.json['reasons']]).toEqual([
        200,
        ['1 stored record is damaged (first: management.mdb, table codes): run quietzone verify'],
      ]);
      const metrics = await readMetrics(second.apiUrl);
      expect(metrics).toContain(
        'quietzone_damaged_records_total{file="management.mdb",table="codes"} 1',
      );
      expect(metrics).toMatch(
        new RegExp(`scans_dropped_total\\{reason="journal_damaged"\\} ${scansPerFrame}\n`),
      );
      await client.close();
      await second.close();
      expect(second.complaints.toSorted((a, b) => a.msg.localeCompare(b.msg))).toMatchObject([
        { level: 'error', damagedScans: scansPerFrame },
        { level: 'error', msg: 'a stored record is damaged', table: 'codes', record: '2' },
        { level: 'warn', msg: 'cut a torn tail off a journal' },
      ]);
      expectCleanLog(second, dataDir, [apiKey, '198.51.100.']);
    }),
);

/** Appends frames as a redirect thread does; returns where each begins in the newest segment. */
async function writeFrames(dataDir: string): Promise<number[]> {
  const folder = journalFolder(join(dataDir, 'journal'), journal);
  const { position } = recoverJournal(folder, 0);
  const writer = new JournalWriter({
    folder,
    journal,
    position,
    segmentBytesMax: 1_048_576,
    segmentMsMax: 60_000,
    backlogBytesMax: 65_536,
    tails: new JournalPositions(),
  });
  const batch = new ScanBatch();
  const starts: number[] = [];
  for (let frame = 0; frame < frames; frame++) {
    starts.push(writer.position - position);
    for (let scan = 0; scan < scansPerFrame; scan++) {
      const address = Uint8Array.of(198, 51, 100, frame);
      batch.add(partitionOf(codeNo), codeNo, 1, 0, address, agent, '');
    }
    writer.append(batch.finish(Date.now()), scansPerFrame);
  }
  await writer.close();
  return starts;
}

function flip(dataDir: string, starts: readonly number[], frame: number, offset: number): void {
  const folder = journalFolder(join(dataDir, 'journal'), journal);
  const file = segmentFile(folder, listSegments(folder).at(-1) ?? 0);
  const bytes = readFileSync(file);
  const at = (starts[frame] ?? 0) + offset;
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(file, bytes);
}
