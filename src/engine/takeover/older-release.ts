/**
 * Releases before takeovers close the connections to their lock without an answer: such a one is stopped, and the
 * start goes on as after any stop.
 *
 *   /proc/net/unix    listening sockets with the path that they were bound to -> inode of the socket
 *   /proc/<pid>/fd    links such as socket:[inode] -> the process
 *   SIGTERM, then the lock is asked until no one answers
 *
 * Only older releases bind the lock's own name (folder-lock.ts). The process must also belong to this user or the
 * folder's, and have a data file of the folder open, so nothing else is stopped. Where its process
 * cannot be found (no /proc, another container, another user), the operator is told to stop it.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { systemErrorCode } from '../../model/failure.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type DataFolder, DataFolderError } from '../data-folder.ts';
import { isAnswered, lockPath } from './folder-lock.ts';
import { isOwnUser } from './kill-other.ts';

/** An older release ends within 15 s. */
const endMsMaxDefault = 20_000;
const askEveryMs = 50;

/**
 * @param proc where the system tells of processes
 * @throws DataFolderError when it cannot be found, or does not end
 */
export async function stopOlderRelease(
  folder: DataFolder,
  log: Logger,
  { endMsMax = endMsMaxDefault, proc = '/proc' } = {},
): Promise<void> {
  const path = lockPath(folder);
  // It may be ending, or was killed while it was asked.
  if (!(await isAnswered(path))) return;
  const pid = findListener(folder, path, proc);
  if (pid === undefined) {
    throw refusal(folder, 'its process cannot be found: it may run in another container');
  }
  log.info({ pid }, 'an older release runs on this data folder, and is stopped');
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== 'ESRCH') throw refusal(folder, `its process ${pid} cannot be stopped: ${code}`);
  }
  for (let waitedMs = 0; waitedMs < endMsMax; waitedMs += askEveryMs) {
    if (!(await isAnswered(path))) return log.info({ pid }, 'the older release has ended');
    await pause(askEveryMs);
  }
  throw refusal(folder, `its process ${pid} did not end within ${endMsMax / 1_000} s`);
}

const refusal = ({ path }: DataFolder, reason: string): DataFolderError =>
  new DataFolderError(
    `Cannot take over: an older release runs on data folder ${path}, and ${reason}; stop it, then start this one`,
  );

/** The one process of the service that listens on a socket which was bound to this path. */
function findListener(folder: DataFolder, path: string, proc: string): number | undefined {
  const inodes = boundInodes(
    path,
    readOr('', () => readFileSync(join(proc, 'net/unix'), 'utf8')),
  );
  const targets = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  if (targets.size === 0) return undefined;
  const { managementFile, scansFile, deliveryFile } = folder;
  const dataFiles = new Set(
    [managementFile, scansFile, deliveryFile].map((file) => readOr(file, () => realpathSync(file))),
  );
  const pids = namesIn(proc)
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => readOr(false, () => isOwnUser(folder, statSync(join(proc, name)).uid)))
    .filter((name) => hasOpen(join(proc, name, 'fd'), targets))
    .filter((name) => hasOpen(join(proc, name, 'fd'), dataFiles));
  return pids.length === 1 ? Number(pids[0]) : undefined;
}

/** As the kernel marks a socket that listens. */
const listeningFlag = 0x1_00_00;

/** `Num: RefCount Protocol Flags Type St Inode Path` */
function boundInodes(path: string, table: string): Set<string> {
  const inodes = new Set<string>();
  for (const line of table.split('\n')) {
    const [, flags = '', inode = '', bound] =
      /^\w+: \w+ \w+ (\w+) \w+ \w+ +(\d+) (.+)$/.exec(line) ?? [];
    if (bound === undefined || (Number.parseInt(flags, 16) & listeningFlag) === 0) continue;
    if (isSame(bound, path)) inodes.add(inode);
  }
  return inodes;
}

/** The older release may have been given the folder by another path, through a link. */
function isSame(bound: string, path: string): boolean {
  if (bound === path) return true;
  if (basename(bound) !== basename(path)) return false;
  const place = (name: string): string => readOr(name, () => realpathSync(dirname(name)));
  return place(bound) === place(path);
}

const hasOpen = (folder: string, targets: ReadonlySet<string>): boolean =>
  namesIn(folder).some((name) => targets.has(readOr('', () => readlinkSync(join(folder, name)))));

const namesIn = (folder: string): string[] => readOr([], () => readdirSync(folder));

/** Processes end while they are listed, and those of others may not be read. */
function readOr<T>(instead: T, read: () => T): T {
  try {
    return read();
  } catch {
    return instead;
  }
}
