/** Both sides of a takeover over a real lock: against each other, against any line, and with processes that die. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DataFolder, openDataFolder } from '../../../src/app/folder/data-folder.ts';
import { folderCommands } from '../../../src/app/commands/folder-commands.ts';
import { ServiceFolder } from '../../../src/app/folder/service-folder.ts';
import { folderOwner, FolderLock } from '../../../src/app/folder/folder-lock.ts';
import { type Hosting, hostTakeovers } from '../../../src/app/upgrade/host-takeovers.ts';
import { PredecessorConnection } from '../../../src/app/upgrade/predecessor-connection.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { soon } from '../../support/soon.ts';
import { makeWholeFolder } from '../folder/whole-folder.ts';
import {
  accepted,
  collectLog,
  dataVersions,
  hello,
  takeover,
  type Talker,
  talkTo,
  TestHost,
  type TestLog,
} from './conversation.ts';

let folder: DataFolder;
let lock: FolderLock;
let host: TestHost;
let told: TestLog;
let hosting: Hosting;
const closers: Array<() => unknown> = [];

beforeEach(async () => {
  folder = openDataFolder(temporaryFolder());
  lock = await FolderLock.take(folder);
  [host, told] = [new TestHost(), collectLog()];
  hosting = hostTakeovers(lock, host, told.log);
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  await hosting.close();
  await lock.unlock();
});

async function talk(...messages: object[]): Promise<Talker> {
  const talker = await talkTo(folder);
  closers.push(() => talker.close());
  talker.say(...messages);
  return talker;
}

async function find(msMax?: number): Promise<PredecessorConnection> {
  const predecessor = await PredecessorConnection.find(folder, hello, told.log, msMax);
  if (predecessor === undefined) throw new Error('no predecessor');
  closers.push(() => predecessor.close());
  return predecessor;
}

const takeOver = ({ path: dataDir }: DataFolder): Promise<ServiceFolder> =>
  ServiceFolder.lock({ dataDir, start: 'any', hello, takeover: true, log: told.log });

test('a whole takeover', async () => {
  const predecessor = await find();
  expect([predecessor.accepted.journals, predecessor.accepted.ports]).toEqual([[0, 1], [80]]);
  expect([host.calls, await folderOwner(folder)]).toEqual([[], 'running']);
  await predecessor.yield();
  expect(host.calls).toEqual(['yield']);
  const successor = await FolderLock.replace(folder);
  closers.push(() => successor.unlock());
  const finish = host.hold('finish');
  let hasEnded = false;
  const ended = predecessor.listening().then(() => (hasEnded = true));
  await host.hasCalls('yield', 'finish');
  expect([hasEnded, predecessor.isGone]).toEqual([false, false]);
  finish();
  await ended;
  await host.hasCalls('yield', 'finish', 'ended');
});

test('a fault of the folder fails the takeover, and the service continues', async () => {
  const whole = await makeWholeFolder(temporaryFolder());
  const own = await FolderLock.take(whole);
  const serving = hostTakeovers(own, host, told.log, folderCommands(whole));
  closers.push(() => own.unlock());
  rmSync(join(whole.path, 'visitor.key'));
  const service = await takeOver(whole);
  await expect(service.examine()).rejects.toThrow('visitor.key is missing');
  expect(host.calls).toEqual([]);
  await service.close();
  await serving.close();
});

test.each([
  [
    { ...takeover, protocol: 99 },
    'this release uses takeover protocol 99, the running one 1; stop it',
  ],
  [{ ...takeover, pidNamespace: 'pid:[1]' }, 'the running service is in another container'],
  [
    { ...takeover, dataVersions: { ...dataVersions, scans: 3 } },
    'this release writes version 3 of scans.mdb, the running one 2; stop it, then start this one',
  ],
])('a takeover is refused with its reason: %j', async (message, reason) => {
  const talker = await talk(message);
  expect(await talker.next()).toEqual({ type: 'refused', reason: expect.stringContaining(reason) });
  await talker.closed;
  expect(host.calls).toEqual([]);
});

test('a service that stops, or has a successor already, refuses in words', async () => {
  host.refusal = 'the running service is stopping';
  await expect(find()).rejects.toThrow('Cannot take over: the running service is stopping');
  host.refusal = undefined;
  await find();
  await expect(find()).rejects.toThrow('Cannot take over: another takeover is running');
});

test('a line above 1 MiB ends its connection, and the service continues', async () => {
  for (const stranger of [await talk(), await talk(takeover)]) {
    stranger.write('x'.repeat(1_100_000));
    await stranger.closed;
  }
  expect(host.calls).toEqual([]);
  await find();
});

test('a connection without a message is ended', async () => {
  await hosting.close();
  hosting = hostTakeovers(lock, host, told.log, {}, 50);
  const silent = await talk();
  await expect(silent.closed).resolves.toBeUndefined();
});

test('an odd line, and a message before its time, are skipped at any step', async () => {
  const successor = await talk({ type: 'ready' }, takeover, { type: 'listening' });
  expect(await successor.next()).toEqual(accepted);
  successor.write('x\n');
  expect(host.calls).toEqual([]);
  successor.say({ type: 'ready' });
  expect(await successor.next()).toEqual({ type: 'yielded' });
  successor.say({ type: 'ready' }, { type: 'hello' }, { type: 'listening' });
  expect(await successor.next()).toEqual({ type: 'ended' });
  await host.hasCalls('yield', 'finish', 'ended');
});

test('a successor that leaves before `ready` changes nothing', async () => {
  (await find()).close();
  await expect.poll(() => told.lines.at(-1), soon).toBe('warn: successor died');
  expect(host.calls).toEqual([]);
  await (await find()).yield();
});

test.each(['yielding', 'yielded'])(
  '%s, the successor dies: the next start finds it',
  async (at) => {
    const go = at === 'yielding' ? host.hold('yield') : undefined;
    const dead = await find();
    const yielding = dead.yield();
    await host.hasCalls('yield');
    if (at === 'yielded') await yielding;
    dead.close();
    go?.();
    await yielding.catch(() => undefined);
    await host.hasCalls('yield', 'orphaned');
    expect(await folderOwner(folder)).toBe('yielded');
    const next = await find();
    await next.yield();
    await next.listening();
    await host.hasCalls('yield', 'orphaned', 'yield', 'finish', 'ended');
  },
);

/** A predecessor in a process of its own, up to a step, which it never answers. */
async function otherService(
  step: 'takeover' | 'command' | 'ready' | 'listening',
): Promise<ChildProcess> {
  await hosting.close();
  await lock.unlock();
  const child = fork(new URL('predecessor.child.ts', import.meta.url), [folder.path, step]);
  closers.push(() => child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

const killed = async (child: ChildProcess): Promise<void> => {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

test('a predecessor that dies at any step is gone, and the successor continues', async () => {
  const asked = await otherService('takeover');
  const finding = PredecessorConnection.find(folder, hello, told.log);
  await once(asked, 'message');
  await killed(asked);
  expect(await finding).toBeUndefined();
  for (const step of ['ready', 'listening'] as const) {
    const child = await otherService(step);
    const predecessor = await find();
    if (step === 'listening') await predecessor.yield();
    const answer = step === 'ready' ? predecessor.yield() : predecessor.listening();
    await once(child, 'message');
    await killed(child);
    await answer;
    expect(predecessor.isGone).toBe(true);
    await predecessor.listening();
    lock = await FolderLock.take(folder);
  }
});

test('a predecessor that dies while it looks for faults is gone too', async () => {
  const child = await otherService('command');
  const service = await takeOver(folder);
  closers.push(() => service.close());
  const taking = service.examine();
  await once(child, 'message');
  // The command has started.
  await pause(100);
  await killed(child);
  await taking;
  expect(await folderOwner(folder)).toBe('busy');
});

test('a predecessor that hangs fails the takeover before it has yielded, and is killed after it', async () => {
  const hanging = await otherService('ready');
  await expect((await find(200)).yield()).rejects.toThrow('did not answer within 0.2 s');
  await killed(hanging);
  const child = await otherService('listening');
  const exited = once(child, 'exit');
  const predecessor = await find(200);
  await predecessor.yield();
  await predecessor.listening();
  expect((await exited)[1]).toBe('SIGKILL');
});
