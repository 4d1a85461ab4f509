/** The running service's side of a takeover, against a successor that says anything. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DataFolder } from '../../../src/engine/data-folder.ts';
import type { FolderLock } from '../../../src/engine/takeover/folder-lock.ts';
import { hostTakeovers, takeoverTimes } from '../../../src/engine/takeover/host-takeovers.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { soon } from '../../support/soon.ts';
import {
  accepted,
  dataVersions,
  limits,
  openHostedFolder,
  tails,
  takeover,
  type Talker,
  talkTo,
  type TestLog,
  type TestHost,
} from './conversation.ts';

const yielded = { type: 'yielded', limits, tails };
const toldTails = { type: 'tails', tails };
const ended = { type: 'ended', tails, lostScans: 3 };
/** `accepted` and the steps after it. */
const order = ['accepted', 'yielding', 'yielded', 'finishing'] as const;

type Held = ReturnType<TestHost['hold']>;

let folder: DataFolder;
let lock: FolderLock;
let host: TestHost;
let told: TestLog;
let hosted: { close(): Promise<void> };
const talkers: Talker[] = [];
const children: ChildProcess[] = [];

beforeEach(async () => {
  ({ folder, lock, host, told, hosted } = await openHostedFolder());
});
afterEach(async () => {
  for (const talker of talkers.splice(0)) talker.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await lock.unlock();
});

/** Hosts again, with shorter times. */
async function withTimes(times: Partial<typeof takeoverTimes>): Promise<void> {
  await hosted.close();
  hosted = hostTakeovers(lock, host, systemClock, told.log, { ...takeoverTimes, ...times });
}

async function talk(...messages: object[]): Promise<Talker> {
  const talker = await talkTo(folder);
  talkers.push(talker);
  talker.say(...messages);
  return talker;
}

/** A successor in one of the states; `finish` never resolves by itself. */
async function talkUpTo(state: (typeof order)[number], pid = process.pid): Promise<Talker> {
  const talker = await talk({ ...takeover, pid });
  expect(await talker.next()).toEqual(accepted);
  if (state === 'accepted') return talker;
  if (state === 'yielding') host.hold('yield');
  talker.say({ type: 'ready' });
  await host.hasCalls('yield');
  if (state === 'yielding') return talker;
  expect(await talker.next()).toEqual(yielded);
  if (state === 'yielded') return talker;
  host.hold('finish');
  talker.say({ type: 'listening' });
  expect(await talker.next()).toEqual(toldTails);
  await host.hasCalls('yield', 'finish');
  return talker;
}

/** A process with nothing to do: the successor that is said to be talking. */
function otherProcess(): { pid: number; exited: Promise<unknown[]> } {
  const child = spawn('sleep', ['60']);
  children.push(child);
  return { pid: child.pid ?? 0, exited: once(child, 'exit') };
}

test.each([
  ['binary garbage', '\u0000\u00FF\n', /no message/],
  ['an unknown message', '{"type":"hello"}\n', /no message/],
  ['a deep one', `${'['.repeat(60_000)}\n`, /no message/],
  ['a message that does not fit', '{"type":"ready"}\n', /"ready" while asked/],
  ['a line without end', 'x'.repeat(1_100_000), /a line of more than 1048576 bytes/],
])('asked, %s: the connection is ended', async (_name, text, fault) => {
  const talker = await talk();
  talker.write(text);
  await talker.closed;
  expect(talker.lines).toEqual([]);
  expect(told.lines).toEqual([expect.stringMatching(fault)]);
  expect(host.calls).toEqual([]);
  await talkUpTo('accepted');
});

test('asked, whether it runs: says so, and waits for the end', async () => {
  const talker = await talk({ type: 'status' });
  expect(await talker.next()).toEqual({ type: 'running' });
  await talkUpTo('accepted');
});

test('asked, silence: the connection is ended', async () => {
  await withTimes({ askMsMax: 10 });
  const talker = await talk();
  await talker.closed;
  expect(told.lines).toEqual(['warn: the connection of a successor was ended: silence']);
});

test('asked, more connections than can be meant: the last is refused in words', async () => {
  for (let i = 0; i < 16; i++) await talk();
  const talker = await talk(takeover);
  expect(await talker.next()).toMatchObject({ type: 'refused' });
});

test.each([
  [{ ...takeover, protocol: 2, dataVersions: 'other' }, /knows protocol 2 of takeovers, the runn/],
  [
    { ...takeover, pidNamespace: 'pid:[1]' },
    /the running service is in another container; stop it/,
  ],
  [
    { ...takeover, dataVersions: { ...dataVersions, scans: 3 } },
    /would convert the data \(scans\.mdb from version 2 to 3\), which the running one could not/,
  ],
  [
    { ...takeover, dataVersions: { ...dataVersions, delivery: 4 } },
    /is older than the data of the/,
  ],
])('asked, another release: is refused %#', async (message, reason) => {
  const talker = await talk(message);
  expect(await talker.next()).toEqual({
    type: 'refused',
    reason: expect.stringMatching(reason),
  });
  await talker.closed;
  expect(told.lines).toEqual(['warn: a takeover was refused']);
});

test('asked, a host that refuses', async () => {
  host.refusal = 'the service is stopping';
  const reason = 'Cannot take over: the service is stopping';
  expect(await (await talk(takeover)).next()).toEqual({ type: 'refused', reason });
  host.refusal = undefined;
  await talkUpTo('accepted');
});

test('asked, while another one is under way: is refused, and that one goes on', async () => {
  const first = await talkUpTo('accepted');
  const second = await talk(takeover);
  const reason = `Cannot take over: another takeover is under way, by process ${process.pid}`;
  expect(await second.next()).toEqual({ type: 'refused', reason });
  first.say({ type: 'ready' });
  expect(await first.next()).toEqual(yielded);
});

test('accepted, a fault: the connection is ended, and nothing has happened', async () => {
  const talker = await talkUpTo('accepted');
  talker.say({ type: 'listening' });
  await talker.closed;
  expect(host.calls).toEqual([]);
  await talkUpTo('accepted');
});

test.each([
  ['has yielded', ({ go }: Held) => go()],
  ['fails', ({ fail }: Held) => fail(new Error('disk is full'))],
])('yielding, the connection ends: taken back once the host %s, not before', async (_how, end) => {
  const yielding = host.hold('yield');
  const talker = await talk(takeover, { type: 'ready' });
  await host.hasCalls('yield');
  talker.close();
  await talker.closed;
  const next = await talk(takeover);
  expect(await next.next()).toMatchObject({ type: 'refused' });
  expect(host.calls).toEqual(['yield']);
  end(yielding);
  await host.hasCalls('yield', 'takeBack', 'taken back');
});

test('yielding, the host fails: refused with the reason, and taken back', async () => {
  const yielding = host.hold('yield');
  const talker = await talk(takeover, { type: 'ready' });
  await host.hasCalls('yield');
  yielding.fail(new Error('disk is full'));
  await host.hasCalls('yield', 'takeBack', 'taken back');
  expect(await talker.next()).toEqual(accepted);
  expect(await talker.next()).toMatchObject({ reason: expect.stringMatching(/disk is full/) });
  await talker.closed;
});

test('while it is taken back no other successor is accepted', async () => {
  const takingBack = host.hold('takeBack');
  (await talkUpTo('yielded')).close();
  await host.hasCalls('yield', 'takeBack');
  expect(await (await talk(takeover)).next()).toMatchObject({ type: 'refused' });
  takingBack.go();
  await host.hasCalls('yield', 'takeBack', 'taken back');
  expect(await (await talk(takeover)).next()).toEqual(accepted);
});

test.each(['yielding', 'yielded', 'finishing'] as const)(
  '%s, a fault: the successor is killed, and nothing taken back while it is connected',
  async (state) => {
    const { pid, exited } = otherProcess();
    const talker = await talkUpTo(state, pid);
    const before = [...host.calls];
    talker.say({ type: 'ready' });
    expect(await exited).toEqual([null, 'SIGKILL']);
    expect(host.calls).toEqual(before);
    expect(talker.isClosed).toBe(false);
    talker.close();
    if (state === 'yielding') return;
    await host.hasCalls(...before, 'takeBack', 'taken back');
    expect(told.lines).toContain('error: the successor was killed');
  },
);

test('yielded, not listening in time: the successor is killed', async () => {
  await withTimes({ listenMsMax: 10 });
  const { pid, exited } = otherProcess();
  const talker = await talkUpTo('yielded', pid);
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(host.calls).toEqual(['yield']);
  talker.close();
  await host.hasCalls('yield', 'takeBack', 'taken back');
});

test.each([process.pid, 1, 0])('process %i is never killed', async (pid) => {
  await withTimes({ listenMsMax: 10 });
  await talkUpTo('yielded', pid);
  await expect.poll(() => told.lines, soon).toContainEqual(expect.stringMatching(/cannot be kill/));
});

test.each(['yielded', 'finishing'] as const)(
  '%s, link changes are followed in order, those that come meanwhile together',
  async (state) => {
    const talker = await talkUpTo(state);
    const before = [...host.calls];
    const following = host.hold('follow');
    talker.say({ type: 'changed', link: 4 });
    await host.hasCalls(...before, 'follow 4');
    talker.say(...[5, 6, 7].map((link) => ({ type: 'changed', link })));
    expect(talker.lines).toEqual([]);
    following.go();
    expect(await talker.next()).toEqual({ type: 'followed', link: 4 });
    await expect.poll(() => host.calls.at(-1), soon).toBe('follow 7');
    talker.say({ type: 'changed', link: 3 });
    await expect
      .poll(() => talker.lines, soon)
      .toEqual(
        expect.arrayContaining(['{"type":"followed","link":3}', '{"type":"followed","link":7}']),
      );
  },
);

test('a change that cannot be followed gets no answer', async () => {
  const talker = await talkUpTo('yielded');
  const following = host.hold('follow');
  talker.say({ type: 'changed', link: 4 });
  await host.hasCalls('yield', 'follow 4');
  following.fail(new Error('broken'));
  await expect
    .poll(() => told.lines, soon)
    .toContain('error: a link change of the successor was not followed');
  expect(talker.lines).toEqual([]);
});

test('finishing, the host fails: the process ends, and the successor goes on alone', async () => {
  const talker = await talkUpTo('yielded');
  const finishing = host.hold('finish');
  talker.say({ type: 'listening' });
  await host.hasCalls('yield', 'finish');
  finishing.fail(new Error('broken'));
  await host.hasCalls('yield', 'finish', 'ended');
  talker.close();
  expect(await (await talk(takeover)).next()).toMatchObject({ type: 'refused' });
  expect(host.calls).toEqual(['yield', 'finish', 'ended']);
});

test('ended, messages that crossed are ignored, and a successor that stays connected does not hold it up', async () => {
  await withTimes({ lastMsMax: 10 });
  const talker = await talkUpTo('yielded');
  talker.say({ type: 'listening' }, { type: 'changed', link: 1 });
  await host.hasCalls('yield', 'finish', 'follow 1', 'ended');
  expect(talker.lines.map((line) => JSON.parse(line))).toContainEqual(ended);
  await talker.closed;
  expect(await (await talk(takeover)).next()).toMatchObject({ type: 'refused' });
});

test('ended, the successor says that it knows: the process ends at once', async () => {
  await withTimes({ lastMsMax: 60_000 });
  const talker = await talkUpTo('yielded');
  talker.say({ type: 'listening' });
  await expect.poll(() => talker.lines, soon).toContainEqual(JSON.stringify(ended));
  talker.say({ type: 'understood' });
  await host.hasCalls('yield', 'finish', 'ended');
});

test('ended, the connection ends before the successor knows: taken back', async () => {
  const talker = await talkUpTo('yielded');
  host.onCall = (call) => void (call === 'finish' && talker.close());
  talker.say({ type: 'listening' });
  await host.hasCalls('yield', 'finish', 'takeBack', 'taken back');
});

test.each(['accepted', 'yielding', 'yielded'] as const)(
  '%s, the service stops: the connection stays, and nothing is taken back',
  async (state) => {
    const talker = await talkUpTo(state);
    const before = [...host.calls];
    await hosted.close();
    talker.say({ type: 'ready' }, { type: 'listening' });
    expect(await (await talk(takeover)).next()).toMatchObject({ type: 'refused' });
    expect(talker.isClosed).toBe(false);
    talker.close();
    await talker.closed;
    expect(await (await talk(takeover)).next()).toMatchObject({ type: 'refused' });
    expect(host.calls).toEqual(before);
  },
);

test('asked, the service stops: the connection is ended', async () => {
  const talker = await talk();
  await talkUpTo('accepted');
  await hosted.close();
  await talker.closed;
});

test('finishing, the service closes what it has open: the takeover ends as ever', async () => {
  const talker = await talkUpTo('yielded');
  const finishing = host.hold('finish');
  talker.say({ type: 'listening' });
  await host.hasCalls('yield', 'finish');
  await hosted.close();
  await lock.unlock();
  finishing.go();
  await expect.poll(() => talker.lines, soon).toContainEqual(JSON.stringify(ended));
  await host.hasCalls('yield', 'finish', 'ended');
});
