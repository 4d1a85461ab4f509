/** Scans that arrive before the table of an operator's geo files is made are counted with their places. */
import { execFileSync } from 'node:child_process';
import { closeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeMmdb } from '../scans/visitor/write-mmdb.ts';
import { Client, word } from '../support/client.ts';
import { openWriter } from '../support/named-pipe.ts';
import { withDataFolder } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';
import { trustLoopback } from './load.ts';

it('redirects run while a table is made, scans wait for it', () =>
  withDataFolder(async (dataDir) => {
    const countries = join(dataDir, 'countries.mmdb');
    writeFileSync(countries, writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT' }]]));
    // It opens when a writer comes: until then the table is being made.
    const cities = join(dataDir, 'cities.mmdb');
    execFileSync('mkfifo', [cities]);
    const environment = {
      ...trustLoopback,
      QZ_GEO_COUNTRY_FILE: countries,
      QZ_GEO_CITY_FILE_V4: cities,
      QZ_GEO_CITY_FILE_V6: '',
    };
    const service = await TestService.start({ dataDir, environment });
    const client = new Client(service.apiUrl, service.apiKey);
    const { json } = await client.call('POST', '/v1/qr-codes', {
      body: { target: 'https://example.com/' },
    });
    const headers = { 'user-agent': 'Mozilla/5.0 (iPhone)', 'x-forwarded-for': '8.8.8.8' };
    const links = new Client(service.redirectUrl);
    const answer = await links.call('GET', new URL(word(json.shortUrl)).pathname, { headers });
    // Open, it would be waited for at the stop.
    await links.close();
    expect(answer.status).toBe(302);
    expect(service.complaints).toEqual([]);
    const places = async () => {
      const { status, json } = await client.call('GET', '/health/ready');
      return [status, json['checks']];
    };
    const check = { name: 'places', ok: false, detail: expect.stringMatching(/is being made/) };
    expect(await places()).toEqual([200, expect.arrayContaining([check])]);
    await expect.poll(() => release(cities), soon).toBe(true);
    const path = `/v1/qr-codes/${word(json.id)}/analytics/breakdown?by=country`;
    const shares = async () => (await client.call('GET', path)).json['data'];
    await expect.poll(shares, soon).toMatchObject([{ key: 'AT', scans: 1 }]);
    const made = { name: 'places', ok: true, detail: 'ok' };
    expect(await places()).toEqual([200, expect.arrayContaining([made])]);
    expect(service.complaints.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^Cannot use geo\.cityFileV4 .*cities\.mmdb: .*places it would name/),
    ]);
    await client.close();
    await service.close();
  }));

/** @returns whether a reader was there; it finds an end, and no file that could be read here and there */
function release(pipe: string): boolean {
  try {
    closeSync(openWriter(pipe));
    return true;
  } catch {
    return false;
  }
}
