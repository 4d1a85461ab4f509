/**
 * Two ends in the real service, over one chain of lives: a campaign, killed in its days, ends once afterwards, whatever
 * clock the service comes back with; and the last trace of a deleted code goes after 90 days.
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

/** Of a code that was scanned and then deleted; what else goes with it says test/scans/retention.test.ts. */
async function expectNoTrace(dataDir: string, no: number, id: string): Promise<void> {
  // Beside the running service, a process of its own: two handles of one thread may wait for each other.
  const files = await openDataFiles(openDataFolder(dataDir), 'read');
  const management = openManagement(join(dataDir, 'management.mdb'));
  const scans = openScanStore(join(dataDir, 'scans.mdb'));
  const left = (): unknown[] => {
    management.environment.refresh();
    scans.environment.refresh();
    const { codes, codeIds, deletedCodes, campaigns } = management;
    const conversions = campaigns.conversionDays.count({ start: [no, 0], end: [no + 1, 0] });
    const records = [codes.has(no), codeIds.has(id), deletedCodes.count({})];
    return [...records, conversions, scans.summaries.has(no)];
  };
  await vi.waitFor(() => expect(left()).toEqual([false, false, 0, 0, false]), patience);
  await management.close();
  await scans.environment.close();
  await files.close();
}

/** The first code of the folder, deleted after three scans. @returns its id */
async function makeDeleted(api: Client, ports: Ports): Promise<string> {
  const body = { target, slug: 'For-Ever' };
  const id = word((await api.call('POST', '/qr-codes', { body })).json.id);
  await scan(ports, 'for-ever', 3);
  await api.call('POST', '/conversions', { body: { qrCodeId: id } });
  expect((await api.call('DELETE', `/qr-codes/${id}`)).status).toBe(200);
  return id;
}

/** With four scans and a conversion. @returns its id */
async function makeCampaign(api: Client, ports: Ports): Promise<string> {
  const made = (await api.call('POST', '/qr-codes', { body: { target } })).json;
  const today = new Date().toISOString().slice(0, 10);
  // The day may turn while this runs: the campaign has the next one too.
  const endDate = new Date(Date.now() + dayMs).toISOString().slice(0, 10);
  const body = { name: 'c', startDate: today, endDate, qrCodeIds: [made.id] };
  const campaign = (await api.call('POST', '/campaigns', { body })).json;
  const code = word(made.shortUrl).split('/').at(-1) ?? '';
  expect(await scan(ports, code, 4)).toEqual([302, 302, 302, 302]);
  await api.call('POST', '/conversions', { body: { qrCodeId: made.id, externalId: 'order-1' } });
  return word(campaign.id);
}

it('a campaign ends once with every scan, a deleted code leaves its short code alone', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const first = await spawn(dataDir, ports, 0);
    const key = first.apiKey;
    const open = (service: RunningService) => new Client(`${service.apiUrl}/v1`, key);
    let api = open(first);
    const deleted = await makeDeleted(api, ports);
    const campaign = await makeCampaign(api, ports);
    await first.kill();
    await api.close();

    const later = await spawn(dataDir, ports, 92 * dayMs);
    api = open(later);
    await vi.waitFor(async () => expect((await endsOf(api)).length).toBe(1), patience);
    const [event] = await endsOf(api);
    const totals = { totalScans: 4, uniqueScanners: 1, conversionRate: 0.25 };
    const data = { id: campaign, ...totals };
    expect(event).toEqual({ id: event?.id, event: 'campaign.ended', data });
    await expectNoTrace(dataDir, 1, deleted);
    expect((await api.call('GET', `/qr-codes/${deleted}/analytics`)).status).toBe(404);
    expect(await scan(ports, 'FOR-EVER', 1)).toEqual([410]);
    const again = await api.call('POST', '/qr-codes', { body: { target, slug: 'for-ever' } });
    expect([again.status, again.json.code]).toEqual([409, 'slug_taken']);
    await later.kill();
    await api.close();

    const back = await TestService.start({ dataDir, ports, clock: clockAhead(-3_600_000) });
    api = open(back);
    const path = `/campaigns/${campaign}`;
    const found = (await api.call('GET', path)).json;
    expect(found).toMatchObject({ status: 'ended', result: { ...totals, conversions: 1 } });
    expect((await api.call('PATCH', path, { body: { endDate: null } })).status).toBe(409);
    // Another one that ends shows that the clock goes on; the first is not emitted again.
    const past = { name: 'p', startDate: '2020-01-01', endDate: '2020-01-02', qrCodeIds: [] };
    await api.call('POST', '/campaigns', { body: past });
    await vi.waitFor(async () => expect((await endsOf(api)).length).toBe(2), patience);
    expect((await endsOf(api)).filter((end) => word(end.data?.id) === campaign).length).toBe(1);
    await api.close();
    await back.close();
  }));
