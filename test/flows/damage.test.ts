/**
 * Bytes of a journal segment and of a record flip between a stop and a start: sound frames are counted to the last scan,
 * damage is reported in log, health and metrics, and nothing becomes a wrong answer.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { partitionOf } from '../../src/model/code.ts';
import { journalFolder, recoverJournal, segmentFile } from '../../src/engine/journal/segments.ts';
import { frameHeaderBytes, ScanBatch } from '../../src/engine/journal/record.ts';
import { word } from '../support/client.ts';
import { expectCleanLog } from '../support/log-hygiene.ts';
import { withDataFolder } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { TestService } from '../support/test-service.ts';

const agent = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1';
const frames = 8;
const scansPerFrame = 5;
/** The first code of a data folder, of its first workspace. */
const codeNo = 1;

it('counts every sound frame, reports the damaged ones, and guesses nothing', () =>
  withDataFolder(async (dataDir) => {
    const environment = { QZ_REDIRECT_THREADS: '1' };
    const first = await TestService.start({ dataDir, environment });
    const { apiKey } = first;
    const [sound, damaged] = [await first.makeCode(), await first.makeCode()];
    await first.close();
    const stored = new StoredBytes(join(dataDir, 'management.mdb'));
    stored.flip('codes', stored.keys('codes')[1]!, 77);
    await stored.close();

    writeFrames(dataDir);

    const second = await TestService.start({ dataDir, environment, apiKey });
    const { api } = second;
    const soundScans = (frames - 3) * scansPerFrame;
    const scans = () => second.scansOf(sound);
    await expect.poll(scans, soon).toBeGreaterThanOrEqual(soundScans);
    await expect.poll(() => second.stderr, soon).toContain('a journal is damaged');
    expect(await scans()).toBe(soundScans);
    const path = `/v1/qr-codes/${word(sound.id)}/analytics?from=2020-01-01`;
    const devices = { ios: soundScans, android: 0, other: 0 };
    expect((await api.get(path)).json).toMatchObject({ devices });
    for (let round = 0; round < 2; round++) {
      const refused = await api.get(`/v1/qr-codes/${word(damaged.id)}`);
      expect(refused).toMatchObject({ status: 503, json: { code: 'data_damaged' } });
    }
    const reason =
      '1 stored record is damaged (first: management.mdb, table codes): run quietzone verify';
    const ready = await api.get('/health/ready');
    expect(ready).toMatchObject({ status: 200, json: { reasons: [reason] } });
    const metrics = (await second.metrics()).split('\n');
    for (const line of [
      'quietzone_damaged_records_total{file="management.mdb",table="codes"} 1',
      `quietzone_scans_dropped_total{reason="journal_damaged"} ${scansPerFrame}`,
    ])
      expect(metrics).toContain(line);
    await second.close();
    expect(second.complaints.toSorted((a, b) => a.msg.localeCompare(b.msg))).toMatchObject([
      { level: 'error', damagedScans: scansPerFrame },
      { level: 'warn', msg: 'cut a torn tail off a journal' },
      { level: 'error', msg: 'stored record damaged', table: 'codes', record: '2' },
    ]);
    expectCleanLog(second, [apiKey, '198.51.100.']);
  }));

/** Frames as a redirect thread leaves them in its newest segment, with a bit flipped in three of them. */
function writeFrames(dataDir: string): void {
  const batch = new ScanBatch();
  const made = Array.from({ length: frames }, (_, frame) => {
    for (let scan = 0; scan < scansPerFrame; scan++) {
      const address = Uint8Array.of(198, 51, 100, frame);
      batch.add(partitionOf(codeNo), codeNo, 1, 0, address, agent, '');
    }
    return Buffer.from(batch.finish(Date.now()));
  });
  made[2]![frameHeaderBytes + 40]! ^= 0x10;
  made[4]![9]! ^= 0x10;
  made[frames - 1]![frameHeaderBytes + 3]! ^= 0x10;
  const folder = journalFolder(join(dataDir, 'journal'), 0);
  const { position } = recoverJournal(folder, 0);
  writeFileSync(segmentFile(folder, position), Buffer.concat(made));
}
