/** Commands that a running service carries out: a change holds from its next request; and its own geo files. */
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ListenError } from '../../src/platform/uws/port.ts';
import { writeMmdb } from '../engine/visitor/geo-data.ts';
import { sharedFolder, temporaryFolder } from '../store/temporary-management.ts';
import { word } from '../support/client.ts';
import {
  type CommandResult,
  freePorts,
  runCommand,
  settingsOf,
  spawnCommand,
} from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';
import { trustLoopback } from './load.ts';

let service: TestService;
const dataDir = sharedFolder();
const environment = { QZ_DATA_DIR: dataDir };
/** What `doctor` says of the folder of the running service. */
let doctor: CommandResult;

/** The file is of 1970. */
let ownGeo: Record<string, string>;

beforeAll(async () => {
  const countries = join(dataDir, 'countries.mmdb');
  await writeFile(countries, writeMmdb(4, [['8.0.0.0/8', { country_code: 'AT' }]]));
  ownGeo = { QZ_GEO_COUNTRY_FILE: countries, QZ_GEO_CITY_FILE_V4: '', QZ_GEO_CITY_FILE_V6: '' };
  const noCities = { QZ_GEO_CITY_FILE_V4: join(dataDir, 'cities.mmdb') };
  const settings = { ...trustLoopback, ...ownGeo, ...noCities };
  service = await TestService.start({ dataDir, environment: settings });
  doctor = await runCommand(['doctor'], environment);
});
afterAll(() => service.close());

const linesOf = (name: string, { stdout }: CommandResult): string[] =>
  stdout.split('\n').filter((line) => line.includes(name));

test('doctor finds the service, and a kernel that resets what a closing listener has not accepted', () => {
  expect(doctor.stdout).toContain('a service is running on this data folder');
  const file = '/proc/sys/net/ipv4/tcp_migrate_req';
  const isReset = existsSync(file) && readFileSync(file, 'utf8') === '0\n';
  const advice = expect.stringMatching(/^WARN net\.ipv4\.tcp_migrate_req is 0: .* set it to 1/);
  expect(linesOf('tcp_migrate_req', doctor)).toEqual(isReset ? [advice] : []);
});

test('doctor names the date of the geo data, and warns of an old one', async () => {
  const own = await runCommand(['doctor'], { ...environment, ...ownGeo });
  for (const [said, text] of [
    [doctor, /^(ok {3}|WARN )geo data of 20\d\d-\d\d-\d\d is /],
    [own, /^WARN geo data of 1970-01-01 is over 180 days old: update/],
  ] as const)
    expect(linesOf('geo data', said)).toEqual([expect.stringMatching(text)]);
});

test('own geo files name the places of scans; one that cannot be used costs a warning', async () => {
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
});

test('while no phone can open the codes, the start says so once, and doctor warns without failing', async () => {
  const isTold = ({ msg }: { readonly msg: string }): boolean => /phones cannot open/.test(msg);
  const told = service.logEntries.filter(isTold);
  expect(told).toMatchObject([{ level: 'warn' }]);
  expect(told[0]?.msg).toContain(service.redirectUrl);
  expect(doctor.stdout).toMatch(
    /^WARN short links begin with http:\/\/localhost:8081, .*QZ_SHORT_URL_BASE/m,
  );
  const base = { QZ_SHORT_URL_BASE: 'https://go.example.com', QZ_API_HOST: '127.0.0.1' };
  const open = await runCommand(['doctor'], { ...environment, ...base });
  const warnings = linesOf('WARN', open);
  // The one file, tried from a checkout in a folder for temporary files, lays out its own files there. The kernel is as it is,
  // and the geo data are as old as they are.
  const ofMachine = /the program's files are in|tcp_migrate_req|geo data of/;
  expect(warnings.filter((line) => !ofMachine.test(line))).toEqual([]);
  expect(doctor.code).toBe(open.code);
});

test('a second start on the folder or the port of a running service says why in one line', async () => {
  const ports = { ...(await freePorts()), redirect: service.ports.redirect };
  const { code, stdout, stderr } = await spawnCommand(['serve'], settingsOf({ dataDir, ports }));
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Cannot start: data folder .* is locked by a running service, .*\n$/);
  const started = TestService.start({ dataDir: temporaryFolder(), ports });
  await expect(started).rejects.toThrow(ListenError);
  await expect(started).rejects.toThrow(`Cannot listen on 127.0.0.1:${ports.redirect}: `);
});

test('users, keys and plans changed on the command line hold from the next request', async () => {
  const run = async (...args: string[]): Promise<string> => {
    const result = await runCommand(args, environment);
    expect([args.join(' '), result.code, result.stderr]).toEqual([args.join(' '), 0, '']);
    return result.stdout;
  };
  const email = 'cli@example.com';
  await run('users', 'create', '-e', email, '-n', 'C', '-r', 'viewer', '-p', 'first password');
  const signIn = async (password: string): Promise<number> =>
    (await service.api.post('/v1/auth/sign-in', { email, password })).status;
  expect(await signIn('first password')).toBe(200);
  const reset = await run('users', 'reset-password', '-e', email);
  const made = reset.trim().split('\n').at(-1) ?? '';
  expect(await signIn(made)).toBe(200);

  // By another process.
  const args = ['keys', 'create', '--name', 'cli', '--role', 'viewer', '--json'];
  const { code, stdout, stderr } = await spawnCommand(args, environment);
  expect([code, stderr]).toEqual([0, '']);
  const created = JSON.parse(stdout);
  const works = async (): Promise<number> =>
    (await service.api.get('/v1/qr-codes', { key: created.key })).status;
  expect(await works()).toBe(200);
  const body = { target: 'https://example.com/' };
  const refused = await service.api.post('/v1/qr-codes', body, { key: created.key });
  expect(refused.status).toBe(403);
  const kid = /signed with (\S+);/.exec(await run('keys', 'rotate-signing'))?.[1];
  expect(await works()).toBe(200);
  const next = JSON.parse(await run('keys', 'create', '-n', 'new', '--json'));
  expect(Buffer.from(next.key.split('.')[0], 'base64url').toString()).toContain(kid);
  expect((await service.api.get('/v1/session', { key: next.key })).status).toBe(200);
  const keys = JSON.parse(await run('keys', 'list', '--json'));
  expect(keys).toHaveLength(3);
  expect(JSON.stringify(keys)).not.toContain(created.key);
  await run('keys', 'revoke', created.id);
  expect(await works()).toBe(401);

  const [{ id }] = JSON.parse(await run('workspaces', 'list', '--json'));
  await run('workspaces', 'set-plan', id, 'enterprise', '--per-minute', '77');
  const limit = async () => (await service.api.get('/v1/session')).headers['x-ratelimit-limit'];
  expect(await limit()).toBe('77');
  await run('workspaces', 'set-plan', id, 'pro');
  expect(await limit()).toBe('120');
  const wrong = [
    [['workspaces', 'set-plan', id, 'pro', '--per-minute', '9'], /^Cannot set limits of pro/],
    [['keys', 'revoke', 'key_00000000000000000000'], /^API key key_0+ not found/],
    [['users', 'create', '-e', email, '-n', 'again'], /^A user with this e-mail address exists/],
    [
      ['users', 'create', '-e', 'nobody', '-n', 'a\nb'],
      /^The input has 2 faults\n {2}email: Expected an e-mail address\n {2}name: /,
    ],
  ] as const;
  for (const [command, reason] of wrong) {
    const stderr = expect.stringMatching(reason);
    expect(await runCommand(command, environment)).toMatchObject({ code: 1, stderr });
  }
});

test('a payment that the operator confirms holds at once, and once; no redirect depends on plan or quota', async () => {
  const { api } = service;
  await service.makeCode({ slug: 'paid' });
  const listed = await runCommand(['workspaces', 'list', '--json'], environment);
  const [{ id: workspace }] = JSON.parse(listed.stdout);
  await runCommand(['workspaces', 'set-plan', workspace, 'starter'], environment);
  const wish = { plan: 'pro', interval: 'month' };
  const { json: checkout } = await api.post('/v1/billing/checkout', wish);
  const id = word(checkout.id);
  const run = (...args: string[]) => runCommand(['billing', ...args], environment);
  expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject([{ id, ...wish }]);
  const stdout = expect.stringContaining('plan pro');
  expect(await run('confirm', id)).toMatchObject({ code: 0, stdout });
  const stderr = expect.stringContaining('it is complete');
  expect(await run('confirm', id)).toMatchObject({ code: 1, stderr });
  expect((await run('list')).stdout).toBe('none\n');
  const paid = await api.get('/v1/billing/subscription');
  expect(paid.headers['x-ratelimit-limit']).toBe('120');
  expect(paid.json).toMatchObject({ plan: 'pro', status: 'active', amount: 29, currency: 'EUR' });
  const canceled = await api.delete('/v1/billing/subscription');
  expect(canceled.json).toEqual({ status: 'canceling', effectiveAt: paid.json.currentPeriodEnd });
  let status = 200;
  while (status === 200) ({ status } = await api.get('/v1/session'));
  expect(status).toBe(429);
  await service.scan('paid');
});
