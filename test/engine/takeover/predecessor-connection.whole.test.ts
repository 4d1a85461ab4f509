/** Every row of the successor's table of states, against a predecessor that says anything, and one that is killed. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type DataFolder,
  DataFolderError,
  openDataFolder,
} from '../../../src/engine/data-folder.ts';
import {
  PredecessorConnection,
  predecessorTimes,
} from '../../../src/engine/takeover/predecessor-connection.ts';
import { soon } from '../../support/soon.ts';
import {
  accepted,
  collectLog,
  hello,
  limits,
  listenAs,
  tails,
  takeover,
  type TestLog,
} from './conversation.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const yielded = { type: 'yielded', limits, tails };
const ended = { type: 'ended', tails, lostScans: 3 };

let folder: DataFolder;
let told: TestLog;
const closers: Array<() => void> = [];

beforeEach(() => {
  folder = openDataFolder(temporaryFolder());
  told = collectLog();
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** `takeover` is said. */
async function begin(answerMsMax = predecessorTimes.answerMsMax) {
  const { server, talker } = await listenAs(folder);
  const found = PredecessorConnection.find(folder, hello, told.log, {
    ...predecessorTimes,
    answerMsMax,
  });
  // A test may expect its failure later.
  found.catch(() => undefined);
  closers.push(() => server.close());
  const met = await talker;
  closers.push(() => met.close());
  expect(await met.next()).toEqual(takeover);
  return { found, talker: met };
}

async function boot() {
  const { found, talker } = await begin();
  talker.say(accepted);
  const predecessor = await found;
  if (predecessor === undefined) throw new Error('no predecessor');
  closers.push(() => predecessor.close());
  return { predecessor, talker };
}

async function bootAndYield() {
  const { predecessor, talker } = await boot();
  const yielding = predecessor.yield();
  expect(await talker.next()).toEqual({ type: 'ready' });
  talker.say(yielded);
  expect(await yielding).toEqual({ limits, tails });
  return { predecessor, talker };
}

async function bootAndListen() {
  const { predecessor, talker } = await bootAndYield();
  predecessor.listening();
  expect(await talker.next()).toEqual({ type: 'listening' });
  return { predecessor, talker };
}

const refused = { type: 'refused', reason: 'Cannot take over: the running service is stopping' };

test.each([
  ['a refusal', refused, /^Cannot take over: the running service is stopping$/],
  ['a fault', yielded, /answered what this release does not know \("yielded" while a/],
  [
    'a message with a fault',
    { ...accepted, ports: ['80'] },
    /does not know \(no message: \{"type"/,
  ],
  ['what is too long', { ...accepted, more: 'x'.repeat(70_000) }, /a line of more than 65536 byt/],
])('asking, %s: fails with the reason', async (_name, answer, reason) => {
  const { found, talker } = await begin();
  talker.say(answer);
  await expect(found).rejects.toThrow(reason);
  await expect(found).rejects.toThrow(DataFolderError);
  await talker.closed;
});

test('asking, no answer: fails', async () => {
  const { found, talker } = await begin(10);
  await expect(found).rejects.toThrow(
    'Cannot take over: the running service did not answer within 0.01 s; it goes on',
  );
  await talker.closed;
});

test('booting, a fault: the takeover fails when it goes on', async () => {
  const { predecessor, talker } = await boot();
  talker.say(ended);
  await talker.closed;
  await expect(predecessor.yield()).rejects.toThrow(/\("ended" while booting\)/);
});

test.each([
  ['a refusal', refused, /^Cannot take over: the running service is stopping$/],
  ['a fault', accepted, /answered what this release does not know \("accepted" while y/],
  ['a fault in a list', { ...yielded, limits: [[1, -5]] }, /does not know \(no message: /],
])('yielding, %s: fails with the reason, and the other one goes on', async (_name, answer, why) => {
  const { predecessor, talker } = await boot();
  const yielding = predecessor.yield();
  talker.say(answer);
  await expect(yielding).rejects.toThrow(why);
  await talker.closed;
  await predecessor.ended;
});

test.each([bootAndYield, bootAndListen])(
  'yielded and listening, a fault is skipped: $name',
  async (begun) => {
    const { predecessor, talker } = await begun();
    const following = predecessor.followed(1);
    talker.write('garbage\n');
    talker.say(accepted, refused);
    expect(await talker.next()).toEqual({ type: 'changed', link: 1 });
    talker.say({ type: 'followed', link: 1 });
    await following;
    expect(told.lines.filter((line) => line.includes('was skipped'))).toHaveLength(3);
    expect(talker.isClosed).toBe(false);
  },
);

test('listening, a change is told one time, and waited for until it is followed', async () => {
  const { predecessor, talker } = await bootAndListen();
  const followed: number[] = [];
  for (const link of [2, 1, 3, 3]) void predecessor.followed(link).then(() => followed.push(link));
  expect(await talker.next()).toEqual({ type: 'changed', link: 2 });
  expect(await talker.next()).toEqual({ type: 'changed', link: 3 });
  talker.say({ type: 'followed', link: 2 });
  await expect.poll(() => followed, soon).toEqual([2, 1]);
  talker.say({ type: 'followed', link: 3 });
  await expect.poll(() => followed, soon).toEqual([2, 1, 3, 3]);
  expect(talker.lines).toEqual([]);
});

test.each([boot, bootAndYield, bootAndListen])(
  'the connection ends: it is gone, and whatever waits goes on: $name',
  async (begun) => {
    const { predecessor, talker } = await begun();
    const [waiting, answer] =
      begun === boot ? [predecessor.yield(), 'gone'] : [predecessor.followed(1), undefined];
    talker.close();
    expect(await waiting).toBe(answer);
    await predecessor.ended;
    expect([predecessor.isGone, await predecessor.yield()]).toEqual([true, 'gone']);
    predecessor.listening();
    await predecessor.followed(2);
    expect(told.lines).toContain('warn: the predecessor is gone');
  },
);

test('asking: one that ends without an answer is none', async () => {
  const { found, talker } = await begin();
  talker.close();
  expect(await found).toBeUndefined();
});

test('listening, a predecessor that does not end is killed', async () => {
  const child = fork(new URL('host.child.ts', import.meta.url), [folder.path]);
  closers.push(() => child.kill('SIGKILL'));
  expect(await once(child, 'message')).toEqual(['hosting', undefined]);
  const times = { ...predecessorTimes, endMsMax: 50 };
  const predecessor = await PredecessorConnection.find(folder, hello, told.log, times);
  if (predecessor === undefined) throw new Error('no predecessor');
  closers.push(() => predecessor.close());
  await predecessor.yield();
  const exit = once(child, 'exit');
  predecessor.listening();
  expect(await exit).toEqual([null, 'SIGKILL']);
  await predecessor.ended;
  expect(told.lines).toContain('error: the predecessor was killed');
});
