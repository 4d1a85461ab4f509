/** An operator's own geo files in a running service: counted with, and named in the log where they cannot be used. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeMmdb } from '../scans/visitor/geo-data.ts';
import { word } from '../support/client.ts';
import { withDataFolder } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';
import { trustLoopback } from './load.ts';

it('own geo files name the places of scans; one that cannot be used costs a warning', () =>
  withDataFolder(async (dataDir) => {
    const countries = join(dataDir, 'countries.mmdb');
    writeFileSync(countries, writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT' }]]));
    const environment = {
      ...trustLoopback,
      QZ_GEO_COUNTRY_FILE: countries,
      QZ_GEO_CITY_FILE_V4: join(dataDir, 'cities.mmdb'),
      QZ_GEO_CITY_FILE_V6: '',
    };
    const service = await TestService.start({ dataDir, environment });
    const location = 'https://example.com/austria';
    const rules = [{ label: 'austria', if: { country: ['AT'] }, then: { target: location } }];
    const { id, shortUrl } = await service.makeCode({ rules });
    const headers = { 'user-agent': 'Mozilla/5.0 (iPhone)', 'x-forwarded-for': '8.8.8.8' };
    const answer = await service.links.get(new URL(word(shortUrl)).pathname, { headers });
    expect(answer).toMatchObject({ status: 302, headers: { location } });
    const path = `/v1/qr-codes/${word(id)}/analytics/breakdown?by=country`;
    const shares = async () => (await service.api.get(path)).items;
    await expect.poll(shares, soon).toMatchObject([{ key: 'AT', scans: 1 }]);
    expect(service.complaints.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^Cannot use geo\.cityFileV4 .*cities\.mmdb: .*places it would name/),
    ]);
    await service.close();
  }));
