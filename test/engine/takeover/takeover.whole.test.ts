/** Both sides of a takeover against each other. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DataFolder } from '../../../src/engine/data-folder.ts';
import { type FolderLock, replaceLock } from '../../../src/engine/takeover/folder-lock.ts';
import type { Tails } from '../../../src/engine/takeover/messages.ts';
import { PredecessorConnection } from '../../../src/engine/takeover/predecessor-connection.ts';
import { soon } from '../../support/soon.ts';
import {
  collectLog,
  hello,
  limits,
  openHostedFolder,
  tails,
  type TestLog,
  type TestHost,
} from './conversation.ts';

let folder: DataFolder;
let lock: FolderLock;
let host: TestHost;
let told: TestLog;
const opened: PredecessorConnection[] = [];
const children: ChildProcess[] = [];

beforeEach(async () => {
  ({ folder, lock, host, told } = await openHostedFolder());
});
afterEach(async () => {
  for (const predecessor of opened.splice(0)) predecessor.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await lock.unlock();
});

async function find(): Promise<PredecessorConnection> {
  const predecessor = await PredecessorConnection.find(folder, hello, collectLog().log);
  if (predecessor === undefined) throw new Error('no predecessor');
  opened.push(predecessor);
  return predecessor;
}

test('a whole takeover', async () => {
  const predecessor = await find();
  expect(predecessor.journals).toEqual([0, 1]);
  expect(predecessor.ports).toEqual([80]);
  expect(host.calls).toEqual([]);
  expect(await predecessor.yield()).toEqual({ limits, tails });
  const successor = await replaceLock(folder);
  await predecessor.followed(1);
  const received: Tails[] = [];
  predecessor.onTails = (next) => received.push(next);
  const finishing = host.hold('finish');
  predecessor.listening();
  await expect.poll(() => received, soon).toEqual([[[0, 4_096]]]);
  host.position = 5_000;
  await expect.poll(() => received, soon).toEqual([[[0, 4_096]], [[0, 5_000]]]);
  await Promise.all([predecessor.followed(2), predecessor.followed(3)]);
  await predecessor.followed(2);
  let hasEnded = false;
  void predecessor.ended.then(() => (hasEnded = true));
  host.position = 6_000;
  finishing.go();
  await host.hasCalls('yield', 'follow 1', 'finish', 'follow 2', 'follow 3', 'ended');
  await expect.poll(() => hasEnded, soon).toBe(true);
  expect(received.at(-1)).toEqual([[0, 6_000]]);
  expect(predecessor.isGone).toBe(false);
  await predecessor.followed(99);
  expect(told.lines).toEqual([
    'a successor is booting',
    'the successor is ready, yielding to it',
    'yielded to the successor',
    'the successor listens, finishing',
    'the successor has taken over',
  ]);
  await successor.unlock();
});

test('a million limited codes', async () => {
  const many = Array.from({ length: 1_000_000 }, (_, i) => [i + 10_000_000, 1_000_000] as const);
  host.yield = () => Promise.resolve({ limits: many, tails });
  const predecessor = await find();
  const yielded = await predecessor.yield();
  expect(yielded).not.toBe('gone');
  if (yielded !== 'gone') expect(yielded.limits).toHaveLength(1_000_000);
});

/** A successor in a process of its own, up to a step. */
async function startSuccessor(step: string): Promise<ChildProcess> {
  const child = fork(new URL('successor.child.ts', import.meta.url), [folder.path, step]);
  children.push(child);
  expect(await once(child, 'message')).toEqual([step, undefined]);
  return child;
}

const takenBack = ['takeBack', 'taken back'];
test.each([
  ['booting', []],
  ['yielding', ['yield', ...takenBack]],
  ['yielded', ['yield', ...takenBack]],
  ['locked', ['yield', ...takenBack]],
  ['listening', ['yield', 'finish', ...takenBack]],
])(
  '%s, the successor is killed: the lock is taken back, and the next one comes',
  async (step, calls) => {
    const finishing = host.hold('finish');
    const child = await startSuccessor(step);
    const exited = once(child, 'exit');
    if (step !== 'booting') await expect.poll(() => host.calls[0], soon).toBe('yield');
    if (step === 'listening') await expect.poll(() => host.calls[1], soon).toBe('finish');
    child.kill('SIGKILL');
    await exited;
    await expect.poll(() => told.lines.at(-1), soon).toMatch(/taken back|is gone$/);
    expect(host.calls).toEqual(calls);
    await lock.retake();
    finishing.go();
    expect(readdirSync(folder.path)).toEqual(['service.sock']);
    await (await find()).yield();
    expect(host.calls).toEqual([...calls, 'yield']);
  },
);
