/** A demo of a few days, made and served in this process: what is in it, and that its numbers add up. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildDemo, type DemoOptions, type MadeDemo } from '../../../src/cli/demo/build-demo.ts';
import { readDemo, writeDemo } from '../../../src/cli/demo/demo-folder.ts';
import { DemoProgress } from '../../../src/cli/demo/demo-progress.ts';
import { openReceiver, type Receiver, receiverNetwork } from '../../../src/cli/demo/receiver.ts';
import { dayOf, formatDay } from '../../../src/model/day.ts';
import { colleagues } from '../../../src/cli/demo/workspace.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { Client, type Json, word } from '../../support/client.ts';
import { oneDayMs, soon, whileOneDay } from '../../support/soon.ts';
import { freePorts } from '../../support/process.ts';
import { TestService } from '../../support/test-service.ts';

const days = 8;
const scans = 4_000;

const folder = mkdtempSync(join(tmpdir(), 'quietzone-demo-'));
const logLines: string[] = [];
const printed: string[] = [];

const options = (over: DemoOptions['over'], receiverPort = 0): DemoOptions => ({
  folder,
  over,
  environment: {},
  clock: systemClock,
  log: createLog('error', { write: (line) => void logLines.push(line) }),
  progress: new DemoProgress({ progress: (line) => void printed.push(line), terminal: undefined }),
  days,
  scans,
  receiverPort,
  machine: { passwordCostLog2: 4 },
});

let demo: MadeDemo;
let service: TestService;
let receiver: Receiver;
let api: Client;

beforeAll(async () => {
  await whileOneDay();
  // As one that was cut short.
  writeDemo(folder, { seed: 1, email: '', password: '', receiverPort: 0, complete: false });
  // Of those that the system gives to nobody by itself: it is still free when the demo is served.
  demo = await buildDemo(options('refuse', (await freePorts()).api));
  receiver = await openReceiver(demo.receiverPort);
  const environment = { QZ_WEBHOOKS_ALLOW_NETWORKS: receiverNetwork };
  service = await TestService.start({ dataDir: folder, environment });
  api = new Client(`${service.apiUrl}/v1`, demo.apiKey);
}, oneDayMs);

afterAll(async () => {
  await api.close();
  await service.close();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

const sum = (counts: readonly Json[], field: string): number =>
  counts.reduce((total, one) => total + Number(one[field]), 0);

const range = (): string => {
  const today = dayOf(systemClock.now());
  return `from=${formatDay(today - days + 1)}&to=${formatDay(today)}`;
};

async function allCodes(): Promise<readonly Json[]> {
  const { items } = await api.call('GET', '/qr-codes?limit=100');
  return items;
}

it('buildDemo says what it does, complains of nothing, and leaves its mark', () => {
  expect(printed).toHaveLength(4);
  expect(logLines).toEqual([]);
  expect(readDemo(folder)).toMatchObject({ complete: true, password: demo.password, seed: 1 });
});

it('scans of days, codes, countries, cities and devices are all of them', async () => {
  expect(Math.abs(demo.scans + demo.others - scans)).toBeLessThan(scans / 4);
  const summary = (await api.call('GET', `/analytics/summary?${range()}`)).json;
  const perDay = Object.values(summary.scansPerDay ?? {});
  const counted = {
    total: Number(summary.totalScans),
    days: sum(perDay, 'scans'),
    devices: Object.values(summary.devices ?? {}).reduce((total, one) => total + Number(one), 0),
    codes: sum(await allCodes(), 'scans'),
  };
  const all = demo.scans;
  expect(counted).toEqual({ total: all, days: all, devices: all, codes: all });
  expect(perDay).toHaveLength(days);
  for (const { scans: ofDay } of perDay) expect(Number(ofDay)).toBeGreaterThan(0);
  for (const by of ['country', 'city', 'browser', 'hour']) {
    const { items } = await api.call('GET', `/analytics/breakdown?by=${by}&limit=100&${range()}`);
    expect([by, sum(items, 'scans')]).toEqual([by, all]);
  }
});

it('in other zones too, as days and as hours of the week', async () => {
  const today = dayOf(systemClock.now());
  const wider = `from=${formatDay(today - days)}&to=${formatDay(today + 1)}`;
  for (const timezone of ['workspace', 'America/Chicago', 'Asia/Kathmandu']) {
    const query = `${wider}&timezone=${timezone}`;
    const summary = (await api.call('GET', `/analytics/summary?${query}`)).json;
    expect([timezone, Number(summary.totalScans)]).toEqual([timezone, demo.scans]);
    for (const by of ['country', 'hour_of_week', 'weekday']) {
      const { items } = await api.call('GET', `/analytics/breakdown?by=${by}&${query}`);
      expect([timezone, by, sum(items, 'scans')]).toEqual([timezone, by, demo.scans]);
    }
  }
});

it('each scan is kept raw, from the first day on', async () => {
  const [code] = (await allCodes()).filter(({ name }) => word(name) === 'London · Menu card');
  const { text } = await api.call('GET', `/qr-codes/${word(code?.id)}/scans/export.csv`);
  const [columns = '', ...raw] = text.trim().split('\r\n');
  expect(raw).toHaveLength(Number(code?.scans));
  const oldest = raw.at(-1)?.split(',')[columns.split(',').indexOf('scannedAt')];
  const first = formatDay(dayOf(systemClock.now()) - days + 1);
  expect(oldest?.slice(0, 10)).toBe(first);
});

// The service has read each design back before it stored it (test/images/scannable.whole.test.ts).
it('sixty codes, with designs of their own', async () => {
  const codes = await allCodes();
  expect(codes).toHaveLength(60);
  const shown = codes.filter(({ name }) => /^London · |Wi-Fi/.test(word(name)));
  const styles = new Set<string>();
  for (const { id } of shown) {
    const { design } = (await api.call('GET', `/qr-codes/${word(id)}`)).json;
    styles.add(JSON.stringify(design));
  }
  expect(styles.size).toBe(shown.length);
});

it('codes in every state, campaigns in every state, people in every role', async () => {
  const statuses: Record<string, number> = {};
  for (const { status } of await allCodes()) {
    statuses[word(status)] = (statuses[word(status)] ?? 0) + 1;
  }
  expect(statuses).toEqual({
    active: 56,
    paused: 1,
    not_started: 1,
    expired: 1,
    used_up: 1,
  });
  const { items: campaigns } = await api.call('GET', '/campaigns');
  const ends = campaigns.map(({ status }) => word(status));
  expect(ends.toSorted()).toEqual(['active', 'active', 'ended', 'scheduled']);
  const { items: ended } = await api.call('GET', '/events?type=campaign.ended');
  expect(ended).toHaveLength(1);
  const { items: members } = await api.call('GET', '/team/members');
  expect(members.map(({ role }) => word(role)).toSorted()).toEqual(['editor', 'owner', 'viewer']);
});

it('scans of codes with rules and splits are counted where they led', async () => {
  const routesOf = async (name: string): Promise<readonly string[]> => {
    const [code] = (await api.call('GET', `/qr-codes?search=${encodeURIComponent(name)}`)).items;
    const { items } = await api.call(
      'GET',
      `/qr-codes/${word(code?.id)}/analytics/breakdown?by=route`,
    );
    return items.map(({ key }) => word(key)).toSorted();
  };
  // Who comes differs by the weekday on which the demo is made: a language may be missing.
  const menu = await routesOf('Berlin Menu card');
  expect(menu).toEqual(expect.arrayContaining(['english', 'lunch', 'target']));
  expect(await routesOf('London Takeaway bag')).toEqual(['free-dessert', 'points']);
  const poster = await routesOf('London Poster');
  expect(poster).toEqual(expect.arrayContaining(['app-store', 'google-play']));
});

it('one endpoint takes what is sent, the other refuses it; what changes now is sent, too', async () => {
  const { items: endpoints } = await api.call('GET', '/webhooks');
  const [refusing, taking] = endpoints.map(({ id }) => word(id));
  const statesOf = async (endpoint = ''): Promise<readonly string[]> => {
    const { items } = await api.call('GET', `/webhooks/${endpoint}/deliveries?limit=100`);
    return items.map(({ state }) => word(state));
  };
  expect(await statesOf(refusing)).toEqual(['dead', 'dead', 'dead']);
  const before = await statesOf(taking);
  expect(new Set(before)).toEqual(new Set(['delivered']));
  const [code] = await allCodes();
  await api.call('PATCH', `/qr-codes/${word(code?.id)}`, { body: { name: 'Another name' } });
  await expect
    .poll(async () => (await statesOf(taking)).join(' '), soon)
    .toBe([...before, 'delivered'].join(' '));
});

it('all its people have the password of the first', async () => {
  for (const { email } of colleagues) {
    const body = { email, password: demo.password };
    const { status } = await api.call('POST', '/auth/sign-in', { key: undefined, body });
    expect([email, status]).toEqual([email, 200]);
  }
});

it('buildDemo refuses a demo that is there, and any folder that has something else', async () => {
  await expect(buildDemo(options('refuse'))).rejects.toThrow('there is one');
  const other = mkdtempSync(join(tmpdir(), 'quietzone-demo-'));
  writeFileSync(join(other, 'notes.txt'), 'of a person');
  const over = { ...options('make anew'), folder: other };
  await expect(buildDemo(over)).rejects.toThrow('it has other files');
  for (const content of ['{"complete":false}', 'no JSON']) {
    writeFileSync(join(other, 'demo.json'), content);
    await expect(buildDemo(over)).rejects.toThrow('it has other files');
  }
  expect(readFileSync(join(other, 'notes.txt'), 'utf8')).toBe('of a person');
  rmSync(other, { recursive: true });
});
