/**
 * The lock of a data folder: a Unix socket at `service.sock` on which its owner listens. The kernel closes it when the
 * process ends, so a lock that refuses connections is stale: the next start removes it.
 *
 *   start      listen on service.<pid> -> link it to service.sock (fails if that exists) -> remove the first name
 *   takeover   listen on service.<pid> -> rename it to service.sock, which replaces the other one's
 *   unlock     remove service.sock if it is still ours -> stop listening
 *
 * The socket listens before it gets the lock's name, so a live lock never refuses. libuv removes the name that a socket was
 * bound to when it closes; that name is gone by then, so a predecessor never removes the lock of its successor.
 * A process that is killed before it gets the lock leaves its service.<pid>; nothing reads it.
 * Trade: two starts that find the same stale lock within microseconds could both remove it. Each compares the file with the
 * one that refused just before it removes it.
 */
import { once } from 'node:events';
import {
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
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
} from '../data-folder.ts';
import { askOwner } from './channel.ts';
import { lineOf, type PredecessorMessage } from './messages.ts';

export interface FolderLock {
  readonly folder: DataFolder;
  /** Called with each connection; without a handler a successor is refused. */
  onConnection: ((socket: Socket) => void) | undefined;
  /** Takes it back from a successor that has ended. @throws DataFolderLockedError if another process has it */
  retake(): Promise<void>;
  /** Removes service.sock if it is still ours. Open connections stay. */
  unlock(): Promise<void>;
}

/** Whether a user may speak for the folder: the one of this process, or the folder's own. */
export const isOwnUser = ({ path }: DataFolder, uid: number): boolean =>
  uid === (process.geteuid?.() ?? uid) || uid === statSync(path).uid;

/** A process id is valid in its namespace only: containers have their own. Empty if the system has none. */
export function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

const lockName = 'service.sock';
const lockNames = /^service\.(sock|\d+)$/;
/** The lock, and the names of processes that are about to take it. */
export const isLockName = (name: string): boolean => lockNames.test(name);

/** Longest path of a lock: macOS takes 103 bytes, and a name with a process id of 7 digits is 3 bytes longer. */
const socketPathMax = 100;
/** Another process that starts at the same time may remove a name between its making and its use. */
const attemptsMax = 5;

/** @param action for the error @throws DataFolderLockedError if another process has it, DataFolderError if it cannot be locked */
export async function lockDataFolder(folder: DataFolder, action = 'start'): Promise<FolderLock> {
  const lock = new SocketLock(folder);
  await lock.take(action);
  return lock;
}

/** For a command while no service runs. @throws DataFolderLockedError, and what `work` throws */
export async function withFolderLock<T>(
  folder: DataFolder,
  action: string,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await lockDataFolder(folder, action);
  try {
    return await work();
  } finally {
    await lock.unlock();
  }
}

/** For a takeover: replaces the running service's lock at once. @throws DataFolderError */
export async function replaceLock(folder: DataFolder): Promise<FolderLock> {
  const lock = new SocketLock(folder);
  await lock.replace();
  return lock;
}

/** Descriptors of folders whose paths are too long for a socket. They stay open: closing a socket uses its path again. */
const longFolders = new Map<string, number>();

/** The lock, always in the folder, by a path that a socket can have. */
export function lockPath({ path }: Pick<DataFolder, 'path'>): string {
  const inside = join(path, lockName);
  if (Buffer.byteLength(inside) <= socketPathMax) return inside;
  let descriptor = longFolders.get(path);
  if (descriptor === undefined || fstatSync(descriptor).ino !== statSync(path).ino) {
    descriptor = openSync(path, 'r');
    longFolders.set(path, descriptor);
  }
  return `/proc/self/fd/${descriptor}/${lockName}`;
}

/** Whether a process has the folder's lock now. Changes nothing. */
export const isFolderLocked = async (folder: Pick<DataFolder, 'path'>): Promise<boolean> =>
  existsSync(folder.path) && (await isAnswered(lockPath(folder)));

/** @throws DataFolderError if the lock belongs to another user */
function assertOwnSocket(folder: DataFolder, action: string): void {
  const uid = lstatSync(lockPath(folder), { throwIfNoEntry: false })?.uid;
  if (uid === undefined || isOwnUser(folder, uid)) return;
  throw new DataFolderError(
    `Cannot ${action}: ${join(folder.path, lockName)} belongs to user ${uid}, expected the owner of the data folder`,
  );
}

/** @param action for the error @returns undefined if no process has the lock @throws DataFolderError */
export async function connectToOwner(
  folder: DataFolder,
  action: string,
): Promise<Socket | undefined> {
  if (!existsSync(folder.path)) return undefined;
  assertOwnSocket(folder, action);
  try {
    return await connectTo(lockPath(folder));
  } catch (error) {
    if (isGone(error)) return undefined;
    const code = systemErrorCode(error);
    throw new DataFolderError(
      `Cannot ${action}: the service on data folder ${folder.path} cannot be asked: ${code}`,
    );
  }
}

class SocketLock implements FolderLock {
  onConnection: ((socket: Socket) => void) | undefined;
  readonly path: string;
  readonly folder: DataFolder;
  #held: ListeningSocket | undefined;

  constructor(folder: DataFolder) {
    this.folder = folder;
    this.path = lockPath(folder);
  }

  /** Takes the lock if no process has it, or one that has ended. */
  async take(action: string): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const code = await this.#listenBy(linkSync, action);
      if (code === undefined) return;
      if (code === 'EEXIST') await this.#removeStale(action);
      else if (code !== 'ENOENT') {
        throw new DataFolderError(
          `Cannot ${action}: data folder ${this.folder.path} cannot be locked (${code}), expected a file system with hard links`,
        );
      }
    }
    throw this.#isBeingLocked(action);
  }

  async replace(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const code = await this.#listenBy(renameSync, 'take over');
      if (code === undefined) return;
      if (code === 'ENOENT' && attempt < attemptsMax) continue;
      throw new DataFolderError(`Cannot lock data folder ${this.folder.path}: ${code}`);
    }
  }

  /** @param give gives a listening socket the lock's name @returns the system's code if it refuses */
  async #listenBy(give: typeof renameSync, action: string): Promise<string | undefined> {
    const beside = await this.#listenBeside(action);
    try {
      give(beside.path, this.path);
      this.#held = beside;
      return undefined;
    } catch (error) {
      beside.server.close();
      return systemErrorCode(error);
    } finally {
      rmSync(beside.path, { force: true });
    }
  }

  async retake(): Promise<void> {
    if (this.#isOurs()) return;
    const former = this.#held;
    await this.take('take the data folder back');
    former?.server.close();
  }

  async unlock(): Promise<void> {
    if (this.#isOurs()) rmSync(this.path, { force: true });
    this.#held?.server.close();
    this.#held = undefined;
    this.onConnection = undefined;
    // The descriptor is closed when this cycle of the event loop has ended.
    await new Promise((done) => setImmediate(done));
  }

  #isOurs(): boolean {
    return this.#held !== undefined && identityOf(this.path) === this.#held.identity;
  }

  /** @throws DataFolderLockedError if its owner runs */
  async #removeStale(action: string): Promise<void> {
    const found = identityOf(this.path);
    const owner = await ownerOf(this.folder, action);
    if (owner !== undefined) {
      throw new DataFolderLockedError(
        `Cannot ${action}: data folder ${this.folder.path} is ${ownerTexts[owner]}, expected an unlocked one`,
        owner,
      );
    }
    if (found !== undefined && identityOf(this.path) === found) rmSync(this.path, { force: true });
  }

  async #listenBeside(action: string): Promise<ListeningSocket> {
    const path = this.path.replace(/sock$/, String(process.pid));
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const bound = await this.#listen(path);
      if (bound !== undefined) return bound;
      // A process of the same id was killed here, or has it in a container of its own.
      if (!(await isAnswered(path))) rmSync(path, { force: true });
    }
    throw this.#isBeingLocked(action);
  }

  #isBeingLocked(action: string): DataFolderLockedError {
    return new DataFolderLockedError(
      `Cannot ${action}: data folder ${this.folder.path} is being locked by another process`,
      'busy',
    );
  }

  #listen(path: string): Promise<ListeningSocket | undefined> {
    return new Promise((done, fail) => {
      const server = createServer((socket) => {
        // Another start that asks for the owner may be gone before the answer.
        socket.on('error', () => undefined);
        if (this.onConnection === undefined) refuseSuccessor(socket);
        else this.onConnection(socket);
      });
      // Stays: an accept without a free descriptor is an 'error' too, and harmless.
      server.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') done(undefined);
        else fail(new DataFolderError(`Cannot lock the data folder: ${error.message}`));
      });
      asOwnerOf(this.folder, () => {
        // Only the folder's user may connect: a connection may run any command.
        const mask = isMainThread ? process.umask(0o177) : undefined;
        try {
          server.listen(path, () => done({ server, path, identity: identityOf(path) }));
        } finally {
          if (mask !== undefined) process.umask(mask);
        }
      });
      server.unref();
    });
  }
}

/**
 * If root locks the folder, the folder's user owns the socket: that user's service could not ask a socket of root's whether
 * it is stale, and would never start again. `chown` would follow a link that the user may put at the path meanwhile.
 */
function asOwnerOf({ path }: DataFolder, listen: () => void): void {
  const owner = isMainThread && process.getuid?.() === 0 ? statSync(path).uid : 0;
  if (owner === 0) return listen();
  try {
    process.seteuid?.(owner);
    readdirSync(path);
  } catch {
    // A folder below one that only root may enter, or a container without other users.
    process.seteuid?.(0);
  }
  try {
    listen();
  } finally {
    process.seteuid?.(0);
  }
}

/** A command has the folder, or a service that cannot be taken over yet. */
const refusalText = lineOf({
  type: 'refused',
  reason:
    'Cannot take over: the data folder is in use by a command, or by a service that is starting, stopping or has too many connections; try again',
} satisfies PredecessorMessage);
/** Within it, the other side reads the refusal. */
const refuseMsMax = 1_000;

export function refuseSuccessor(socket: Socket): void {
  socket.unref();
  socket.resume();
  socket.end(refusalText);
  setTimeout(() => socket.destroy(), refuseMsMax).unref();
}

interface ListeningSocket {
  readonly server: Server;
  readonly path: string;
  /** Device and inode of its file: no other file has them while the socket is open. */
  readonly identity: string | undefined;
}

function identityOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/** The state of a folder's owner; undefined if no process has the lock. @throws DataFolderError */
export const folderOwner = async (folder: DataFolder): Promise<FolderOwner | undefined> =>
  existsSync(folder.path) ? await ownerOf(folder, 'ask the service') : undefined;

/** A running service answers; another owner refuses unasked (`refuseSuccessor`). Undefined if no process has the lock. */
async function ownerOf(folder: DataFolder, action: string): Promise<FolderOwner | undefined> {
  assertOwnSocket(folder, action);
  let socket: Socket | undefined;
  try {
    socket = await connectToOwner(folder, action);
  } catch {
    // Its queue is full, or it is another user's.
    return 'running';
  }
  if (socket === undefined) return undefined;
  const answer = await askOwner(socket, { type: 'status' });
  socket.destroy();
  if (answer === 'late') return 'running';
  return answer?.type === 'running' || answer?.type === 'yielded' ? answer.type : 'busy';
}

const ownerTexts: Readonly<Record<FolderOwner, string>> = {
  running: 'locked by a running service',
  busy: 'in use by a command, or by a service that is starting or stopping',
  yielded: 'locked by a service whose successor has died',
};

/** Only a socket that refuses is stale: one with a full queue, or of another user, has an owner. */
async function isAnswered(path: string): Promise<boolean> {
  try {
    const socket = await connectTo(path);
    socket.destroy();
    return true;
  } catch (error) {
    return !isGone(error);
  }
}

/** A socket that stops listening resets its waiting connections (ECONNRESET): another may listen at its path by then. */
async function connectTo(path: string): Promise<Socket> {
  for (let attempt = 1; ; attempt++) {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      if (systemErrorCode(error) !== 'ECONNRESET' || attempt === attemptsMax) throw error;
    }
  }
}

function isGone(error: unknown): boolean {
  const code = systemErrorCode(error);
  return code === 'ECONNREFUSED' || code === 'ENOENT';
}
