/** A small demo, made and served in this process: what is in it, and that its numbers add up. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildDemo, readDemo, writeDemo } from '../../../src/operations/demo/build-demo.ts';
import { openReceiver, paths, receiverNetwork } from '../../../src/operations/demo/receiver.ts';
import { colleagues, owner } from '../../../src/operations/demo/script.ts';
import { dayOf, formatDay } from '../../../src/model/day.ts';
import { Client, type Json, word } from '../../support/client.ts';
import { freePorts, startProcess, withDataFolder } from '../../support/process.ts';
import { oneDayMs, soon, whileOneDay } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';
import { runHere } from '../running.ts';

const folder = mkdtempSync(join(tmpdir(), 'quietzone-demo-'));
const printed: string[] = [];
const context = { environment: {}, progress: (line: string) => void printed.push(line) };

let demo: Awaited<ReturnType<typeof buildDemo>>;
let service: TestService;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
let api: Client;

beforeAll(async () => {
  await whileOneDay();
  // As one that was cut short.
  writeDemo(folder, { password: '', receiverPort: 0, complete: false });
  // Of those that the system gives to nobody by itself: it is still free when the demo is served.
  const machine = { passwordCostLog2: 4 };
  demo = await buildDemo(context, folder, false, 1 / 70, (await freePorts()).api, machine);
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

const sum = (counts: readonly Json[]): number =>
  counts.reduce((total, one) => total + Number(one['scans']), 0);

const allCodes = async (): Promise<readonly Json[]> => (await api.get('/qr-codes?limit=100')).items;

it('it says what it does, complains of nothing, and leaves its mark', () => {
  expect(printed).toHaveLength(4);
  expect(readDemo(folder)).toMatchObject({ complete: true, password: demo.password });
});

it('scans of days, codes, countries, cities and devices are all of them, in another zone too', async () => {
  const today = dayOf(Date.now());
  const range = `from=${formatDay(today - 90)}&to=${formatDay(today + 1)}`;
  expect(demo.scans).toBeGreaterThan(2_800);
  expect(sum(await allCodes())).toBe(demo.scans);
  const query = `${range}&timezone=Asia/Kathmandu`;
  const summary = (await api.get(`/analytics/summary?${query}`)).json;
  const perDay = Object.values(summary['scansPerDay'] ?? {});
  expect([Number(summary['totalScans']), sum(perDay)]).toEqual([demo.scans, demo.scans]);
  expect(perDay.filter(({ scans }) => Number(scans) > 0).length).toBeGreaterThanOrEqual(90);
  for (const by of ['country', 'city', 'device', 'hour_of_week']) {
    const path = `/analytics/breakdown?by=${by}&limit=168&${query}`;
    expect([by, sum((await api.get(path)).items)]).toEqual([by, demo.scans]);
  }
});

// The service has read each design back before it stored it (test/product/images/design.test.ts).
it('sixty codes and campaigns in every state, people in every role', async () => {
  const codes = await allCodes();
  const statuses = Map.groupBy(codes, ({ status }) => word(status));
  const counts = Object.fromEntries([...statuses].map(([status, those]) => [status, those.length]));
  expect(counts).toEqual({ active: 56, paused: 1, not_started: 1, expired: 1, used_up: 1 });
  const { items: campaigns } = await api.get('/campaigns');
  const ends = campaigns.map(({ status }) => word(status));
  expect(ends.toSorted()).toEqual(['active', 'active', 'ended', 'scheduled']);
  const { items: members } = await api.get('/team/members');
  expect(members.map(({ role }) => word(role)).toSorted()).toEqual(['editor', 'owner', 'viewer']);
});

it('scans of codes with rules and splits are counted where they led', async () => {
  const routesOf = async (name: string): Promise<readonly string[]> => {
    const [code] = (await api.get(`/qr-codes?search=${encodeURIComponent(name)}`)).items;
    const path = `/qr-codes/${word(code?.['id'])}/analytics/breakdown?by=route`;
    return (await api.get(path)).items.map(({ key }) => word(key)).toSorted();
  };
  // Who comes differs by the weekday on which the demo is made: a language may be missing.
  const menu = await routesOf('Berlin Menu card');
  expect(menu).toEqual(expect.arrayContaining(['english', 'lunch', 'target']));
  expect(await routesOf('London Takeaway bag')).toEqual(['free-dessert', 'points']);
  const poster = await routesOf('London Poster');
  expect(poster).toEqual(expect.arrayContaining(['app-store', 'google-play']));
});

it('one endpoint takes what is sent, the other refuses it; what changes now is sent, too', async () => {
  const { items: endpoints } = await api.get('/webhooks');
  const [refusing, taking] = endpoints.map(({ id }) => word(id));
  const statesOf = async (endpoint = ''): Promise<readonly string[]> => {
    const { items } = await api.get(`/webhooks/${endpoint}/deliveries?limit=100`);
    return items.map(({ state }) => word(state));
  };
  expect(await statesOf(refusing)).toEqual(['dead', 'dead', 'dead']);
  const before = await statesOf(taking);
  expect(new Set(before)).toEqual(new Set(['delivered']));
  const [code] = await allCodes();
  await api.patch(`/qr-codes/${word(code?.['id'])}`, { name: 'Another name' });
  await expect
    .poll(async () => (await statesOf(taking)).join(' '), soon)
    .toBe([...before, 'delivered'].join(' '));
});

it('neither a demo nor a folder with something else is written over', async () => {
  await expect(buildDemo(context, folder, false)).rejects.toThrow('it has a demo');
  const other = mkdtempSync(join(tmpdir(), 'quietzone-demo-'));
  writeFileSync(join(other, 'notes.txt'), 'of a person');
  await expect(buildDemo(context, other, true)).rejects.toThrow('it has other files');
  for (const content of ['{"complete":false}', 'no JSON']) {
    writeFileSync(join(other, 'demo.json'), content);
    await expect(buildDemo(context, other, true)).rejects.toThrow('it has other files');
  }
  expect(readFileSync(join(other, 'notes.txt'), 'utf8')).toBe('of a person');
  const { code, progress } = await runHere(['demo', '--existing', '--dir', other], {});
  expect([code, progress]).toEqual([1, expect.stringContaining('has no demo')]);
  rmSync(other, { recursive: true });
});

/** `quietzone demo --existing`: serves the demo of a folder, says who can sign in, and takes what the demo sends. */

it('the command serves a demo, says who can sign in, and takes its webhooks', () =>
  withDataFolder(async (folder) => {
    const password = 'correct horse battery';
    const receiverPort = (await freePorts()).api;
    writeDemo(folder, { password, receiverPort, complete: true });
    const command = ['demo', '--existing', '--dir', folder];
    const service = await startProcess({ dataDir: folder, ports: await freePorts(), command });
    for (const text of [owner, password, ...colleagues.map((one) => one.email)]) {
      await expect.poll(() => service.stdout).toContain(text);
    }
    expect((await fetch(service.apiUrl)).status).toBe(200);
    const receiver = `http://127.0.0.1:${receiverPort}${paths.taking}`;
    expect((await fetch(receiver, { method: 'POST', body: '{}' })).ok).toBe(true);
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));
