/**
 * The lock of a data folder: a Unix socket at `service.sock` on which its owner listens. The kernel closes it when the
 * process ends, so a lock that refuses connections is stale: the next start removes it.
 *
 *   start      listen on service.<random> -> link it to service.sock (fails if that exists) -> remove the first name
 *   takeover   listen on service.<random> -> rename it to service.sock, which replaces the other one's
 *   unlock     remove service.sock if it is still ours -> stop listening
 *
 * The socket listens before it gets the lock's name, so a live lock never refuses. On close, libuv removes the name
 * that a socket was bound to; that name no longer exists, so a predecessor never removes the lock of its successor. A
 * process killed before it gets the lock leaves its service.<random>, which is never read. Trade: two starts that find
 * the same stale lock within microseconds could both remove it. Just before it removes the file, each compares it with
 * the one that refused.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { systemErrorCode } from '../../model/failure.ts';
import {
  type DataFolder,
  DataFolderError,
  DataFolderLockedError,
  type FolderOwner,
} from './data-folder.ts';
import { Channel } from '../upgrade/channel.ts';
import { lineOf } from '../upgrade/messages.ts';

const lockName = 'service.sock';
/** The lock, and the names of processes that try to take it. */
export const isLockName = (name: string): boolean => /^service\.(sock|[\da-f]{6})$/.test(name);

/** Longest path of a lock: macOS takes 103 bytes, and a name with a random number is 2 bytes longer. */
const socketPathMax = 100;
/** Each attempt may lose to another process that starts at the same time. */
const attemptsMax = 5;
/** A reset means that the owner stops. */
const resetsMax = 100;
/** An owner answers at once, even if it is busy. A slower owner hangs. */
export const answerMsMax = 10_000;

export class FolderLock {
  /** Called with each connection; without a handler another process is refused. */
  onConnection: ((socket: Socket) => void) | undefined;
  readonly folder: DataFolder;
  readonly #path: string;
  #server: Server | undefined;
  /** Identity of the server's file. */
  #identity: string | undefined;

  private constructor(folder: DataFolder) {
    this.folder = folder;
    this.#path = lockPath(folder);
  }

  /** @param action for the error @throws DataFolderLockedError if another process has it, DataFolderError if it cannot be locked */
  static async take(folder: DataFolder, action = 'start'): Promise<FolderLock> {
    const lock = new FolderLock(folder);
    await lock.#take(action);
    return lock;
  }

  /** For a takeover: replaces the running service's lock at once. @throws DataFolderError */
  static async replace(folder: DataFolder): Promise<FolderLock> {
    const lock = new FolderLock(folder);
    await lock.#listenBy(renameSync, 'take over');
    return lock;
  }

  /** Takes the lock back from a successor that has ended. @throws DataFolderLockedError if another process has it */
  async retake(): Promise<void> {
    if (this.#isOurs()) return;
    const former = this.#server;
    await this.#take('take the data folder back');
    former?.close();
  }

  /** Removes service.sock if it is still ours. Open connections stay. */
  async unlock(): Promise<void> {
    if (this.#isOurs()) rmSync(this.#path, { force: true });
    this.#server?.close();
    this.#identity = undefined;
    this.onConnection = undefined;
    // The descriptor is closed when this cycle of the event loop has ended.
    await new Promise((done) => setImmediate(done));
  }

  #isOurs(): boolean {
    return this.#identity !== undefined && identityOf(this.#path) === this.#identity;
  }

  async #take(action: string): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (await this.#listenBy(linkSync, action)) return;
      const stale = identityOf(this.#path);
      const owner = await folderOwner(this.folder, action);
      if (owner !== undefined) throw lockedBy(owner, this.folder, action);
      if (stale !== undefined && identityOf(this.#path) === stale)
        rmSync(this.#path, { force: true });
    }
    throw lockedBy('busy', this.folder, action);
  }

  /**
   * @param give gives a listening socket the lock's name
   * @returns false if the lock exists @throws DataFolderError
   */
  async #listenBy(give: typeof renameSync, action: string): Promise<boolean> {
    const unlockable = (error: unknown): DataFolderError =>
      new DataFolderError(
        `Cannot ${action}: data folder ${this.folder.path} cannot be locked (${systemErrorCode(error)}), ` +
          'expected a writable file system with sockets and hard links',
      );
    const draft = this.#path.replace(/sock$/, randomBytes(3).toString('hex'));
    const server = createServer((socket) => {
      // Another start may disconnect before the answer.
      socket.on('error', () => undefined);
      if (this.onConnection === undefined) refuseConnection(socket);
      else this.onConnection(socket);
    });
    server.unref();
    try {
      listenAsOwner(this.folder, server, draft);
      await once(server, 'listening');
    } catch (error) {
      throw unlockable(error);
    }
    // An accept without a free descriptor is an 'error' too, and harmless.
    server.on('error', () => undefined);
    const identity = identityOf(draft);
    try {
      give(draft, this.#path);
      [this.#server, this.#identity] = [server, identity];
      return true;
    } catch (error) {
      server.close();
      if (systemErrorCode(error) === 'EEXIST') return false;
      throw unlockable(error);
    } finally {
      rmSync(draft, { force: true });
    }
  }
}

/** For a command while no service runs. @throws DataFolderLockedError, and what `work` throws */
export async function withFolderLock<T>(
  folder: DataFolder,
  action: string,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await FolderLock.take(folder, action);
  try {
    return await work();
  } finally {
    await lock.unlock();
  }
}

/**
 * The state of a folder's owner. A running service answers; another owner refuses unasked (`refuseConnection`).
 * @param action for the error @returns undefined if no process has the lock @throws DataFolderError
 */
export async function folderOwner(
  folder: DataFolder,
  action = 'ask the service',
): Promise<FolderOwner | undefined> {
  const socket = await connectToOwner(folder, action);
  if (socket === undefined) return undefined;
  const channel = new Channel(socket);
  channel.send({ type: 'status' });
  const answer = await channel.receive(['running', 'yielded', 'refused'], answerMsMax);
  channel.destroy();
  if (answer === 'late') return 'running';
  return answer === 'gone' || answer.type === 'refused' ? 'busy' : answer.type;
}

const ownerTexts: Readonly<Record<FolderOwner, string>> = {
  running: 'locked by a running service',
  busy: 'in use by a command, or by a service that is starting or stopping',
  yielded: 'locked by a service whose successor has died',
};

const lockedBy = (owner: FolderOwner, { path }: DataFolder, action: string): Error =>
  new DataFolderLockedError(
    `Cannot ${action}: data folder ${path} is ${ownerTexts[owner]}, expected an unlocked one`,
    owner,
  );

/**
 * Only a socket that refuses is stale: one with a full queue, or of another user, has an owner.
 * @param action for the error @returns undefined if no process has the lock
 * @throws DataFolderLockedError if the queue is full, DataFolderError
 */
export async function connectToOwner(
  folder: DataFolder,
  action: string,
): Promise<Socket | undefined> {
  if (!existsSync(folder.path)) return undefined;
  const path = lockPath(folder);
  const uid = lstatSync(path, { throwIfNoEntry: false })?.uid;
  if (uid !== undefined && !isOwnUser(folder, uid)) {
    throw new DataFolderError(
      `Cannot ${action}: ${join(folder.path, lockName)} belongs to user ${uid}, expected the owner of the data folder`,
    );
  }
  for (let attempt = 1; ; attempt++) {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === 'ECONNREFUSED' || code === 'ENOENT') return undefined;
      // A socket that stops listening resets its waiting connections; another process may already listen at its path.
      if (code === 'ECONNRESET' && attempt < resetsMax) continue;
      if (code === 'EAGAIN') throw lockedBy('running', folder, action);
      throw new DataFolderError(
        `Cannot ${action}: the service on data folder ${folder.path} cannot be asked: ${code}`,
      );
    }
  }
}

/** True for the user of this process and for the folder's owner: no other user may lock the folder. */
export const isOwnUser = ({ path }: DataFolder, uid: number): boolean =>
  uid === (process.geteuid?.() ?? uid) || uid === statSync(path).uid;

/** Descriptors of folders whose paths are too long for a socket. They stay open: closing a socket uses its path. */
const longFolders = new Map<string, number>();

/** The path of the lock. If it is too long for a socket, it leads through a descriptor of the folder. */
export function lockPath({ path }: DataFolder): string {
  const inside = join(path, lockName);
  if (Buffer.byteLength(inside) <= socketPathMax) return inside;
  let descriptor = longFolders.get(path);
  if (descriptor === undefined || fstatSync(descriptor).ino !== statSync(path).ino) {
    descriptor = openSync(path, 'r');
    longFolders.set(path, descriptor);
  }
  return `/proc/self/fd/${descriptor}/${lockName}`;
}

/**
 * Lets only the folder's user connect, because a connection may run any command. If root locks the folder, the socket belongs
 * to the folder's user too: a service of that user must be able to ask whether the lock is stale. It does not use `chown`,
 * which follows a link that the user may put at the path.
 */
function listenAsOwner({ path }: DataFolder, server: Server, at: string): void {
  if (!isMainThread) return void server.listen(at);
  const owner = process.getuid?.() === 0 ? statSync(path).uid : 0;
  const mask = process.umask(0o177);
  if (owner !== 0) {
    try {
      process.seteuid?.(owner);
      readdirSync(path);
    } catch {
      // Only root may enter a parent folder, or the container has no other users.
      process.seteuid?.(0);
    }
  }
  try {
    server.listen(at);
  } finally {
    if (owner !== 0) process.seteuid?.(0);
    process.umask(mask);
  }
}

/** The other side has this time to read the refusal. */
const refuseMsMax = 1_000;

/** For a command, and for a service that cannot be taken over yet. */
export function refuseConnection(socket: Socket): void {
  const reason =
    'Cannot take over: the data folder is in use by a command, or by a service that is starting, stopping or has too many connections; try again';
  socket.unref();
  socket.resume();
  socket.end(lineOf({ type: 'refused', reason }));
  setTimeout(() => socket.destroy(), refuseMsMax).unref();
}

/** A new file may get the inode of a removed one, but has a later time. */
function identityOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}:${stats.mtimeNs}`;
}
