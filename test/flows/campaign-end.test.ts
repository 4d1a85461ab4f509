/**
 * A campaign in the real service: real scans, killed on its last day, ended once on the next, whatever
 * clock the service comes back with; and the last trace of a deleted code after 90 days.
 */
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { openDataFiles } from '../../src/engine/opening/data-files-opening.ts';
import { dayMs } from '../../src/model/day.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { Client, type Json, word } from '../support/client.ts';
import { clockAhead } from '../support/fakes/offset-clock.ts';
import {
  freePorts,
  type Ports,
  type RunningService,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { preload } from '../support/program.ts';
import { TestService } from '../support/test-service.ts';

const target = 'https://example.com/menu';
/** Each call is one of the 600 requests that a minute of the plan has. */
const patience = { timeout: 60_000, interval: 200 };

/** A process that can be killed, with its wall clock ahead by `aheadMs` in all its threads. */
async function spawn(dataDir: string, ports: Ports, aheadMs: number) {
  return await startProcess({
    dataDir,
    ports,
    nodeOptions: [preload('clock-ahead')],
    environment: { CLOCK_AHEAD_MS: String(aheadMs) },
  });
}

async function scan(ports: Ports, code: string, times: number): Promise<number[]> {
  const links = new Client(`http://127.0.0.1:${ports.redirect}`);
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/126.0' };
  const statuses: number[] = [];
  for (let at = 0; at < times; at++) {
    statuses.push((await links.call('GET', `/${code}`, { headers })).status);
  }
  await links.close();
  return statuses;
}

async function endsOf(api: Client): Promise<readonly Json[]> {
  return (await api.call('GET', '/events?type=campaign.ended')).items;
}

it(
  'ends once with every scan of its days, over kill -9 and steps of the clock',
  () =>
    withDataFolder(async (dataDir) => {
      const ports = await freePorts();
      const first = await spawn(dataDir, ports, 0);
      const key = first.apiKey;
      const open = (service: RunningService) => new Client(`${service.apiUrl}/v1`, key);
      let api = open(first);
      const made = (await api.call('POST', '/qr-codes', { body: { target } })).json;
      const today = new Date().toISOString().slice(0, 10);
      // The day may turn while this runs: the campaign has the next one too.
      const endDate = new Date(Date.now() + dayMs).toISOString().slice(0, 10);
      const body = { name: 'c', startDate: today, endDate, qrCodeIds: [made.id] };
      const campaign = (await api.call('POST', '/campaigns', { body })).json;
      const code = word(made.shortUrl).split('/').at(-1) ?? '';
      expect(await scan(ports, code, 4)).toEqual([302, 302, 302, 302]);
      const conversion = { qrCodeId: made.id, externalId: 'order-1' };
      await api.call('POST', '/conversions', { body: conversion });
      await first.kill();
      await api.close();

      const later = await spawn(dataDir, ports, 2 * dayMs);
      api = open(later);
      await vi.waitFor(async () => expect((await endsOf(api)).length).toBe(1), patience);
      const [event] = await endsOf(api);
      const totals = { totalScans: 4, uniqueScanners: 1, conversionRate: 0.25 };
      expect(event).toEqual({
        id: event?.id,
        event: 'campaign.ended',
        data: { id: campaign.id, ...totals },
      });
      await later.kill();
      await api.close();

      const clock = clockAhead(-3_600_000);
      const back = await TestService.start({ dataDir, ports, clock });
      api = open(back);
      const path = `/campaigns/${word(campaign.id)}`;
      const found = (await api.call('GET', path)).json;
      expect(found).toMatchObject({ status: 'ended', result: { ...totals, conversions: 1 } });
      expect((await api.call('PATCH', path, { body: { endDate: null } })).status).toBe(409);
      // Another one that ends shows that the clock goes on; the first is not emitted again.
      const past = { name: 'p', startDate: '2020-01-01', endDate: '2020-01-02', qrCodeIds: [] };
      await api.call('POST', '/campaigns', { body: past });
      await vi.waitFor(async () => expect((await endsOf(api)).length).toBe(2), patience);
      expect((await endsOf(api)).filter(({ data }) => data?.id === campaign.id).length).toBe(1);
      await api.close();
      await back.close();
    }),
  240_000,
);

it(
  'a deleted code leaves no key behind after 90 days, but its short code taken',
  () =>
    withDataFolder(async (dataDir) => {
      const ports = await freePorts();
      const first = await TestService.start({ dataDir, ports });
      const key = first.apiKey;
      let api = new Client(`${first.apiUrl}/v1`, key);
      const made = (await api.call('POST', '/qr-codes', { body: { target, slug: 'For-Ever' } }))
        .json;
      const id = word(made.id);
      await scan(ports, 'for-ever', 3);
      await api.call('POST', '/conversions', { body: { qrCodeId: id } });
      expect((await api.call('DELETE', `/qr-codes/${id}`)).status).toBe(200);
      await first.close();
      await api.close();

      const later = await spawn(dataDir, ports, 91 * dayMs);
      api = new Client(`${later.apiUrl}/v1`, key);
      // Beside the running service, a process of its own: two handles of one thread may wait for each other.
      const files = await openDataFiles(openDataFolder(dataDir), 'read');
      const management = openManagement(join(dataDir, 'management.mdb'));
      const scans = openScanStore(join(dataDir, 'scans.mdb'));
      const left = (): unknown[] => {
        management.environment.refresh();
        scans.environment.refresh();
        const { codes, codeIds, deletedCodes, campaigns } = management;
        const kept = [codes.has(1), codeIds.has(id), deletedCodes.count({})];
        return [
          ...kept,
          campaigns.conversionDays.count({}),
          scans.summaries.has(1),
          scans.codeCounts.count({}),
        ];
      };
      await vi.waitFor(() => expect(left()).toEqual([false, false, 0, 0, false, 0]), patience);
      expect((await api.call('GET', `/qr-codes/${id}/analytics`)).status).toBe(404);
      expect(await scan(ports, 'FOR-EVER', 1)).toEqual([410]);
      const again = await api.call('POST', '/qr-codes', { body: { target, slug: 'for-ever' } });
      expect([again.status, again.json.code]).toEqual([409, 'slug_taken']);
      await management.close();
      await scans.environment.close();
      await files.close();
      await api.close();
      await later.kill();
    }),
  240_000,
);
