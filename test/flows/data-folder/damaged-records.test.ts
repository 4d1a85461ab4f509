/** A byte that flips is a refusal that log, health and metrics report, never a wrong answer. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import { freePorts, withDataFolder, readMetrics } from '../../support/process.ts';
import { TestService } from '../../support/test-service.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';

it('refuses a damaged record, and reports it', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
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
    const stored = new StoredBytes(join(dataDir, 'management.mdb'));
    stored.flip('codes', stored.keys('codes')[0]!, 77);
    await stored.close();

    const second = await TestService.start({ dataDir, ports, apiKey });
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
    const text = await readMetrics(second.apiUrl);
    expect(text).toContain(
      'quietzone_damaged_records_total{file="management.mdb",table="codes"} 1',
    );
    const lines = second.logEntries.filter(({ msg }) => msg === 'a stored record is damaged');
    expect(lines).toMatchObject([
      { level: 'error', file: 'management.mdb', table: 'codes', record: '1' },
    ]);
    await second.close();
  }));
