/** The lock of a data folder, with the remains of a crash and of other processes, and a successor's in its place. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type DataFolder,
  DataFolderLockedError,
  openDataFolder,
} from '../../../src/app/folder/data-folder.ts';
import {
  isOwnUser,
  connectToOwner,
  FolderLock,
  lockPath,
  refuseConnection,
} from '../../../src/app/folder/folder-lock.ts';
import { lineOf } from '../../../src/app/upgrade/messages.ts';
import { soon } from '../../support/soon.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

let path: string;
let folder: DataFolder;
let children: ChildProcess[] = [];
beforeEach(() => {
  path = temporaryFolder();
  folder = openDataFolder(path);
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** A process that locks the folder (`lock`), or takes it over (`replace`). */
async function lockInChild(order: 'lock' | 'replace'): Promise<ChildProcess> {
  const child = fork(new URL('lock.child.ts', import.meta.url), [order, path]);
  children.push(child);
  expect(await once(child, 'message')).toEqual(['locked', undefined]);
  return child;
}

async function end(child: ChildProcess, how: 'exit' | 'return' | 'SIGKILL'): Promise<void> {
  const exited = once(child, 'exit');
  if (how === 'SIGKILL') child.kill(how);
  else child.send(how);
  await exited;
}

/** What a connection to the lock gets before it is closed. */
const ask = (): Promise<string> => text(connect(join(path, 'service.sock')));

const named = (lock: FolderLock, name: string): void => {
  lock.onConnection = (socket) => socket.end(name);
};

test('one process locks the folder, the next is refused until it is unlocked', async () => {
  const lock = await FolderLock.take(folder);
  expect(readdirSync(path)).toEqual(['service.sock']);
  await expect(FolderLock.take(folder)).rejects.toThrow(DataFolderLockedError);
  await lock.unlock();
  expect(readdirSync(path)).toEqual([]);
});

test.each([
  ['a running service', (socket: Socket) => socket.end(lineOf({ type: 'running' })), 'running'],
  ['a command', refuseConnection, 'busy'],
  ['one that ends without an answer', (socket: Socket) => socket.destroy(), 'busy'],
] as const)(
  'tells whether the owner is %s, however late it answers',
  async (_name, answer, owner) => {
    const lock = await FolderLock.take(folder);
    lock.onConnection = (socket) => {
      socket.on('error', () => undefined);
      setTimeout(() => answer(socket), 700);
    };
    await expect(FolderLock.take(folder)).rejects.toMatchObject({ owner });
    await lock.unlock();
  },
);

test("root's lock belongs to the folder's user, whose service finds it stale once its process is killed", async () => {
  const { uid } = process.getuid?.() === 0 ? { uid: 65_534 } : lstatSync(path);
  chownSync(path, uid, -1);
  const child = await lockInChild('lock');
  expect(lstatSync(join(path, 'service.sock')).uid).toBe(uid);
  await end(child, 'SIGKILL');
  expect(await connectToOwner(folder, 'take over')).toBeUndefined();
});

test('of several starts at once one has the lock', async () => {
  await end(await lockInChild('lock'), 'SIGKILL');
  const starts = await Promise.allSettled(Array.from({ length: 8 }, () => FolderLock.take(folder)));
  const locks = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const errors = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []));
  expect(errors.filter((error) => error instanceof DataFolderLockedError)).toHaveLength(7);
  await locks[0]?.unlock();
  expect(readdirSync(path)).toEqual([]);
});

test.each(['exit', 'return', 'SIGKILL'] as const)(
  'a predecessor that ends by %s leaves the lock of its successor',
  async (how) => {
    const predecessor = await lockInChild('lock');
    const successor = await FolderLock.replace(folder);
    named(successor, 'successor');
    await end(predecessor, how);
    expect(readdirSync(path)).toEqual(['service.sock']);
    expect(await ask()).toBe('successor');
    await expect(FolderLock.take(folder)).rejects.toThrow(DataFolderLockedError);
    await successor.unlock();
    expect(readdirSync(path)).toEqual([]);
  },
);

test('there is a lock at every moment of a takeover', async () => {
  const locks = [await FolderLock.take(folder)];
  const over = new AbortController();
  let asked = 0;
  const asking = (async () => {
    while (!over.signal.aborted) {
      await expect(FolderLock.take(folder)).rejects.toThrow(DataFolderLockedError);
      asked += 1;
    }
  })();
  for (let i = 0; i < 20; i++) {
    locks.push(await FolderLock.replace(folder));
    await locks.at(-2)?.unlock();
  }
  over.abort();
  await asking;
  expect(asked).toBeGreaterThan(0);
  await locks.at(-1)?.unlock();
  expect(readdirSync(path)).toEqual([]);
});

test('the lock is taken back from a successor that was killed, and not from one that runs', async () => {
  const lock = await FolderLock.take(folder);
  named(lock, 'predecessor');
  await lock.retake();
  const successor = await lockInChild('replace');
  await expect(lock.retake()).rejects.toThrow(DataFolderLockedError);
  await end(successor, 'SIGKILL');
  await lock.retake();
  expect(await ask()).toBe('predecessor');
  expect(readdirSync(path)).toEqual(['service.sock']);
  await lock.unlock();
  expect(readdirSync(path)).toEqual([]);
});

test('without a handler connections are refused and closed, with one they are given to it', async () => {
  const lock = await FolderLock.take(folder);
  for (let i = 0; i < 3; i++) expect(await ask()).toMatch(/^\{"type":"refused".*\n$/);
  named(lock, 'handled');
  expect(await ask()).toBe('handled');
  await lock.unlock();
});

/** Connects to a lock whose owner stops listening before it accepts. */
async function connectAtEnd(
  end: 'removed' | 'replaced',
): Promise<[isConnected: boolean, acceptedByNext: number]> {
  const lock = join(path, 'service.sock');
  let accepted = 0;
  const [owner, next] = [await listenAt('owner'), await listenAt('next')];
  next.on('connection', () => (accepted += 1));
  renameSync(join(path, 'owner'), lock);
  const asked = connectToOwner(folder, 'open');
  if (end === 'removed') rmSync(lock);
  else renameSync(join(path, 'next'), lock);
  owner.close();
  const socket = await asked;
  socket?.destroy();
  await new Promise((done) => next.close(done));
  return [socket !== undefined, accepted];
}

test('an owner that ends while it is asked is gone, unless another is in its place', async () => {
  expect(await connectAtEnd('removed')).toEqual([false, 0]);
  expect(await connectAtEnd('replaced')).toEqual([true, 1]);
});

test('an open connection does not hold up the unlocking', async () => {
  const lock = await FolderLock.take(folder);
  let isOpen = false;
  lock.onConnection = () => (isOpen = true);
  const socket = connect(join(path, 'service.sock'));
  await expect.poll(() => isOpen, soon).toBe(true);
  await lock.unlock();
  socket.destroy();
  expect(readdirSync(path)).toEqual([]);
});

test.each([88, 89, 90, 200])('a folder whose path has %i bytes is locked', async (bytes) => {
  const long = join(path, 'x'.repeat(bytes - path.length - 1));
  mkdirSync(long);
  const folder = openDataFolder(long);
  const lock = await FolderLock.take(folder);
  expect(lockPath(folder).startsWith(long)).toBe(bytes < 88);
  expect(readdirSync(long)).toEqual(['service.sock']);
  await expect(FolderLock.take(folder)).rejects.toThrow(DataFolderLockedError);
  const successor = await FolderLock.replace(folder);
  await lock.unlock();
  await expect(FolderLock.take(folder)).rejects.toThrow(DataFolderLockedError);
  await successor.unlock();
});

test('a socket of a stranger is not believed', async () => {
  const server = await listenAt('service.sock');
  expect([lstatSync(path).uid, 65_534].map((uid) => isOwnUser(folder, uid))).toEqual([true, false]);
  // Only root can give a socket to a stranger.
  if (process.getuid?.() === 0) {
    chownSync(join(path, 'service.sock'), 65_534, -1);
    const refusal = /service\.sock belongs to user 65534, expected the owner of the data folder/;
    await expect(connectToOwner(folder, 'take over')).rejects.toThrow(refusal);
    await expect(FolderLock.take(folder)).rejects.toThrow(refusal);
  }
  await new Promise((done) => server.close(done));
});

test('an owner whose queue of connections is full is a running service', async () => {
  const server = await listenAt('service.sock', 1);
  const waiting = Array.from({ length: 4 }, () => connect(join(path, 'service.sock')));
  for (const socket of waiting) socket.on('error', () => undefined);
  const asked = connectToOwner(folder, 'open');
  await expect(asked).rejects.toMatchObject({ owner: 'running' });
  for (const socket of waiting) socket.destroy();
  await new Promise((done) => server.close(done));
});

async function listenAt(name: string, backlog?: number): Promise<Server> {
  const server = createServer().listen({ path: join(path, name), backlog });
  await once(server, 'listening');
  return server;
}
