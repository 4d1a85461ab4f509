/**
 * The starts of a node, in its data folder: `start.json`. A copy of the folder is recognized by it.
 *
 *   starts         ids: the last one that the leader has recorded, and the one that it is to record. That one is kept until
 *                  the leader has answered. A folder that does not know the recorded start is a copy: another has started since
 *   boot, inode    of the kernel and of the folder, where the node redirected last; `host` is for the operator
 *   isRunning      until a clean stop
 */
import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseJson, readIfThere, replaceFile } from '../../platform/small-files.ts';
import { NodeError } from './node-error.ts';

const startFileName = 'start.json';
const noStart = {
  starts: [] as readonly string[],
  boot: '',
  inode: '',
  host: '',
  isRunning: false,
};

export interface NodeBegin {
  /** Names this start of the process. */
  readonly instance: string;
  /** Of the kernel; empty where it has none. */
  readonly boot: string;
}

/** The folder is locked. @returns whether this machine ran it last, since its boot @throws NodeError in a copy of a running folder */
export function beginStart(path: string, name: string, begin: NodeBegin): boolean {
  const { starts, boot, inode, host, isRunning } = readStart(path);
  const isHere = inode === inodeOf(path);
  if (isRunning && !isHere) {
    throw new NodeError(
      `Cannot start as ${name}: data folder ${path} is a copy, made while ${name} ran on ${host}; start in an empty data folder ` +
        `under a cluster.nodeName of its own. Only if the original never starts again, remove ${startFileName} from the copy`,
    );
  }
  if (starts.length < 2) write(path, { starts: [...starts, begin.instance] });
  return isHere && boot !== '' && boot === begin.boot;
}

/** It redirects from here on. @returns notes a clean stop */
export function noteRunning(path: string, { boot }: NodeBegin): () => void {
  write(path, { boot, inode: inodeOf(path), host: hostname(), isRunning: true });
  return () => write(path, { isRunning: false });
}

/** The leader has recorded it. */
export function confirmStart(path: string): void {
  const { starts } = readStart(path);
  if (starts.length > 1) write(path, { starts: starts.slice(-1) });
}

export function readStart(path: string): typeof noStart {
  const value = parseJson(readIfThere(join(path, startFileName))?.toString('utf8') ?? '');
  return Object.assign({ ...noStart }, value);
}

const inodeOf = (path: string): string => String(statSync(path, { bigint: true }).ino);

/** A disk that refuses leaves the start before, and the node starts. */
function write(path: string, change: Partial<typeof noStart>): void {
  try {
    replaceFile(join(path, startFileName), JSON.stringify({ ...readStart(path), ...change }));
  } catch {}
}
