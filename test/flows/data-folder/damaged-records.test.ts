/**
 * A data folder of the release before checksums gets them behind the running service; from then on a byte that flips
 * is a refusal that log, health and metrics tell of, never a wrong answer.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import { freePorts, withDataFolder, readMetrics } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';
import { flipBit, makeOlder } from '../../store/older-data.ts';

const files = ['management', 'scans', 'delivery'] as const;

it('gives older records their checksums, and tells of those that are damaged', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const file = (name: string): string => join(dataDir, `${name}.mdb`);
    const first = await TestService.start({ dataDir, ports });
    const { apiKey } = first;
    const client = new Client(first.apiUrl, apiKey);
    const ids: string[] = [];
    for (const path of ['one', 'two']) {
      const body = { target: `https://example.com/${path}` };
      const { id }: { id: string } = JSON.parse(
        (await client.call('POST', '/v1/qr-codes', { body })).text,
      );
      ids.push(id);
    }
    await first.close();
    for (const name of files) expect(await makeOlder(file(name), name)).toBeGreaterThan(0);

    const second = await TestService.start({ dataDir, ports, apiKey });
    const done = (): unknown[] =>
      second.logEntries.flatMap((entry) =>
        entry.msg === 'every record has its checksum' ? [entry['file']] : [],
      );
    await expect.poll(done, soon).toEqual(files.map((name) => `${name}.mdb`));
    for (const id of ids) expect((await client.call('GET', `/v1/qr-codes/${id}`)).status).toBe(200);
    await second.close();
    await flipBit(file('management'), 'codes', 1, 'uint32');

    const third = await TestService.start({ dataDir, ports, apiKey });
    for (let round = 0; round < 2; round++) {
      const refused = await client.call('GET', `/v1/qr-codes/${ids[0]}`);
      expect([refused.status, refused.json['code']]).toEqual([503, 'data_damaged']);
    }
    expect((await client.call('GET', `/v1/qr-codes/${ids[1]}`)).status).toBe(200);
    const ready = await client.call('GET', '/health/ready');
    expect([ready.status, ready.json['reasons']]).toEqual([
      200,
      ['1 stored record is damaged (first: management.mdb, table codes): run quietzone verify'],
    ]);
    const text = await readMetrics(third.apiUrl);
    expect(text).toContain(
      'quietzone_damaged_records_total{file="management.mdb",table="codes"} 1',
    );
    const lines = third.logEntries.filter(({ msg }) => msg === 'a stored record is damaged');
    expect(lines).toMatchObject([
      { level: 'error', file: 'management.mdb', table: 'codes', record: '1' },
    ]);
    expect(third.stderr).not.toContain('checksums');
    await third.close();
  }));
