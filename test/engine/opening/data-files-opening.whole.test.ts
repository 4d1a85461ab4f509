/** No process commits while another one opens the data files, with a service or without one. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type DataFolder, dataFolderAt } from '../../../src/engine/data-folder.ts';
import { ServiceFolder } from '../../../src/engine/installation/service-folder.ts';
import {
  openDataFiles,
  type OpenDataFiles,
} from '../../../src/engine/opening/data-files-opening.ts';
import { type FolderLock, lockDataFolder } from '../../../src/engine/takeover/folder-lock.ts';
import { hostTakeovers, takeoverTimes } from '../../../src/engine/takeover/host-takeovers.ts';
import { pidNamespace } from '../../../src/engine/takeover/kill-other.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { type Management, openManagement } from '../../../src/store/management/management.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { listenAs, takeover, type Talker, talkTo, TestHost } from '../takeover/conversation.ts';
import { makeWholeFolder } from '../whole-folder.ts';

const shortMs = 200;
const open = { type: 'open', pid: process.pid, pidNamespace: pidNamespace() };

let whole: string;
let root: string;
let folder: DataFolder;
const closers: Array<() => Promise<void> | void> = [];

beforeAll(async () => {
  whole = mkdtempSync(join(tmpdir(), 'quietzone-opening-'));
  await makeWholeFolder(join(whole, 'data'));
});
afterAll(() => rmSync(whole, { recursive: true }));
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'quietzone-opening-'));
  cpSync(whole, root, { recursive: true });
  folder = dataFolderAt(join(root, 'data'));
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  rmSync(root, { recursive: true });
});

/** A service that runs on the folder. */
async function host(
  times: Partial<typeof takeoverTimes> = {},
  service = new TestHost(),
): Promise<FolderLock> {
  const lock = await lockDataFolder(folder);
  const all = { ...takeoverTimes, ...times };
  const hosted = hostTakeovers(lock, service, systemClock, createLog('silent'), all);
  closers.push(
    () => lock.unlock(),
    () => hosted.close(),
  );
  return lock;
}

function openStore(): Management {
  const store = openManagement(folder.managementFile);
  closers.push(() => store.close());
  return store;
}

async function talk(message: object): Promise<Talker> {
  const talker = await talkTo(folder);
  closers.push(() => talker.close());
  talker.say(message);
  return talker;
}

const commit = ({ environment, meta }: Management): Promise<void> =>
  environment.transaction(() => meta.put('commit', 1));

const isDoneIn = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true), pause(ms, false)]);

test('commits of every file wait from the answer to the end of the connection', async () => {
  await host();
  const store = openStore();
  const scans = openScanStore(folder.scansFile);
  closers.push(() => scans.environment.close());
  const talker = await talk(open);
  expect(await talker.next()).toEqual({ type: 'held' });
  const commits = [commit(store), scans.environment.transaction(() => undefined)];
  for (const one of commits) expect(await isDoneIn(shortMs, one)).toBe(false);
  talker.close();
  await Promise.all(commits);
});

test('a service lets in one process after the other', async () => {
  await host();
  const [first, second] = [await talk(open), await talk(open)];
  await first.next();
  const held = second.next();
  expect(await isDoneIn(shortMs, held)).toBe(false);
  first.close();
  expect(await held).toEqual({ type: 'held' });
});

test('a process that has leave opens the files, and holds up nothing more', async () => {
  await host();
  const store = openStore();
  const files = await openDataFiles(folder, 'change');
  expect(files.isServiceRunning).toBe(true);
  await commit(store);
  await files.close();
});

test('a process that has leave and hangs is killed', async () => {
  await host({ openMsMax: 100 });
  const store = openStore();
  const child = fork(new URL('hanging.child.ts', import.meta.url), [folder.path]);
  const ended = once(child, 'exit');
  await once(child, 'message');
  expect(await ended).toEqual([null, 'SIGKILL']);
  await commit(store);
});

test('a process that hangs and cannot be killed is waited for no longer', async () => {
  await host({ openMsMax: 100 });
  const store = openStore();
  const talker = await talk({ ...open, pid: 1 });
  await talker.next();
  await Promise.all([talker.closed, commit(store)]);
});

test('a service that stops lets go of its files, and refuses who waits', async () => {
  const lock = await lockDataFolder(folder);
  closers.push(() => lock.unlock());
  const hosted = hostTakeovers(lock, new TestHost(), systemClock, createLog('silent'));
  const store = openStore();
  const [first, second] = [await talk(open), await talk(open)];
  await first.next();
  await hosted.close();
  await commit(store);
  first.close();
  expect(await second.next()).toMatchObject({ type: 'refused' });
});

test('without a service a command that changes something keeps others out until it ends', async () => {
  const first = await openDataFiles(folder, 'change');
  expect(first.isServiceRunning).toBe(false);
  const others: Array<Promise<OpenDataFiles>> = [
    openDataFiles(folder, 'read'),
    openDataFiles(folder, 'change'),
  ];
  const service = ServiceFolder.open(folder.path, 'existing', createLog('silent'));
  for (const other of [...others, service]) expect(await isDoneIn(shortMs, other)).toBe(false);
  await first.close();
  const opened = others.map(async (other) => (await other).close());
  await Promise.all([...opened, service.then((own) => own.close())]);
});

test.each(['before', 'after'])('a service that ends %s it is asked is none', async (when) => {
  const { server, talker } = await listenAs(folder);
  const opening = openDataFiles(folder, 'change');
  const asked = await talker;
  if (when === 'after') await asked.next();
  server.close();
  asked.close();
  const files = await opening;
  expect(files.isServiceRunning).toBe(false);
  await files.close();
});

test('without a service a command that reads keeps nobody out, and leaves closed what LMDB cannot open', async () => {
  rmSync(folder.scansFile);
  const files = await openDataFiles(folder, 'read');
  const lock = await lockDataFolder(folder);
  await lock.unlock();
  await files.close();
});

test('a takeover yields once nothing is held, and lets nobody in until it is over', async () => {
  const service = new TestHost();
  await host({}, service);
  const opening = await talk(open);
  await opening.next();
  const successor = await talk(takeover);
  expect(await successor.next()).toMatchObject({ type: 'accepted' });
  successor.say({ type: 'ready' });
  const yielded = successor.next();
  expect(await isDoneIn(shortMs, yielded)).toBe(false);
  await service.hasCalls();
  opening.close();
  expect(await yielded).toMatchObject({ type: 'yielded' });
  expect(await (await talk(open)).next()).toMatchObject({ type: 'refused' });
  successor.close();
  await service.hasCalls('yield', 'takeBack', 'taken back');
  expect(await (await talk(open)).next()).toEqual({ type: 'held' });
});
