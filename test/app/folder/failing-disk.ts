/** A disk that refuses, fills up or dies in the middle of a copy: functions of node:fs fail, whoever calls them. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { stepsOfToday } from '../../seconds/runs.ts';
import { refusalOf } from './whole-folder.ts';

type Changes = Readonly<Record<string, (...args: unknown[]) => unknown>>;

/** Runs `work` with other functions in node:fs and node:fs/promises. */
export async function withDisk<T>(
  { sync = {}, promises = {} }: { readonly sync?: Changes; readonly promises?: Changes },
  work: () => Promise<T>,
): Promise<T> {
  const undo = [replaced(fs, sync), replaced(fs.promises, promises)];
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    for (const restore of undo) restore();
    syncBuiltinESMExports();
  }
}

function replaced(target: object, changes: Changes): () => void {
  const before = Object.keys(changes).map((name) => [name, Reflect.get(target, name)] as const);
  Object.assign(target, changes);
  return () => Object.assign(target, Object.fromEntries(before));
}

export const systemError = (code: string): Error =>
  Object.assign(new Error(`${code}: refused`), { code, syscall: 'write' });

/** More than a backup, a restore or a copy of the folder takes. */
export const callsMax = 400;

/** Not of the copy: write probes of stores, the folder's lock. */
const others = /\.trial$|service\.\w+$/;

/** Runs `work` with a disk whose n-th change throws, and so do all after it while `isDead`. */
export async function withDiskThatFails<T>(
  call: number,
  error: Error,
  isDead: boolean,
  work: () => Promise<T>,
): Promise<T> {
  let calls = 0;
  const step = (path?: unknown): void => {
    if (others.test(String(path))) return;
    calls += 1;
    if (calls === call || (isDead && calls > call)) throw error;
  };
  const counted = (target: object, name: string): Changes => {
    const original: unknown = Reflect.get(target, name);
    if (typeof original !== 'function') throw new Error(`Cannot replace ${name}`);
    return {
      [name]: (...args: unknown[]): unknown => {
        step(args[0]);
        return Reflect.apply(original, target, args);
      },
    };
  };
  const { open } = fs.promises;
  const openCounted = async (...args: unknown[]): Promise<unknown> => {
    if (args[1] === 'w') step(args[0]);
    const file: fs.promises.FileHandle = await Reflect.apply(open, fs.promises, args);
    const changes = { ...counted(file, 'writeFile'), ...counted(file, 'sync') };
    return args[1] === 'w' ? Object.assign(file, changes) : file;
  };
  const sync = ['mkdirSync', 'renameSync', 'rmSync', 'fsyncSync', 'writeFileSync'];
  return await withDisk(
    {
      sync: Object.assign({}, ...sync.map((name) => counted(fs, name))),
      promises: { ...counted(fs.promises, 'writeFile'), open: openCounted },
    },
    work,
  );
}

/** A disk with `bytes` free, as `statfs` reports it for `folder`. */
export const withFreeBytes = <T>(bytes: number, work: () => Promise<T>): Promise<T> =>
  withDisk({ sync: { statfsSync: () => ({ bavail: bytes, bsize: 1 }) } }, work);

/**
 * Why `work` fails on a disk that refuses its first change, another one in the next run, and so on, until it ends well.
 * @param stride only each n-th change, others each day
 */
export async function* refusalsByCall(
  stride: number,
  error: Error,
  isDead: boolean,
  work: () => Promise<unknown>,
): AsyncGenerator<string> {
  const { first, every } = stepsOfToday(stride);
  for (let call = first; call < callsMax; call += every) {
    const message = await refusalOf(withDiskThatFails(call, error, isDead, work));
    if (message !== 'done') yield message;
    else if (call > first) return;
    else throw new Error(`Cannot fail change ${call}: the work ended before it`);
  }
  throw new Error(`Cannot fail each change: there are more than ${callsMax}`);
}
