/**
 * CPU time and memory of a process and of each of its threads, as Linux counts them.
 * `schedstat` has nanoseconds; without it `stat` has ticks of 10 ms, good enough over seconds.
 */
import { readdirSync, readFileSync } from 'node:fs';

const nanosecondsPerTick = 10_000_000;

/** The process and its children (nginx works in one), children's children too. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  if (children === '') return [pid];
  return [pid, ...children.split(' ').flatMap((child) => processesOf(Number(child)))];
}

/** Nanoseconds on a CPU since the start, by thread id. Threads that ended are not in it. */
export function threadNanoseconds(pid: number): Map<number, number> {
  const times = new Map<number, number>();
  for (const process of processesOf(pid)) {
    for (const tid of readdirSync(`/proc/${process}/task`)) {
      const time = oneThread(`/proc/${process}/task/${tid}`);
      if (time !== undefined) times.set(Number(tid), time);
    }
  }
  return times;
}

function oneThread(folder: string): number | undefined {
  try {
    const [run = '0'] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ');
    if (run !== '0') return Number(run);
    const stat = readFileSync(`${folder}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * nanosecondsPerTick;
  } catch {
    return undefined;
  }
}

export interface CpuSpent {
  readonly allNanoseconds: number;
  readonly byThread: ReadonlyMap<number, number>;
}

export function spentSince(pid: number, before: ReadonlyMap<number, number>): CpuSpent {
  const byThread = new Map<number, number>();
  let allNanoseconds = 0;
  for (const [tid, time] of threadNanoseconds(pid)) {
    const spent = time - (before.get(tid) ?? 0);
    byThread.set(tid, spent);
    allNanoseconds += spent;
  }
  return { allNanoseconds, byThread };
}

/** The thread that worked most. */
export function busiestThread(spent: CpuSpent): number {
  const [first] = [...spent.byThread].sort(([, a], [, b]) => b - a);
  if (first === undefined) throw new Error('Cannot find a thread: the process has none');
  return first[0];
}

export interface Memory {
  readonly residentBytes: number;
  /** Of these, pages of files (LMDB, programs): the system takes them back when it needs them. */
  readonly fileBytes: number;
}

export function memoryOf(pid: number): Memory {
  const all = processesOf(pid).map(memoryOfOne);
  return {
    residentBytes: all.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    fileBytes: all.reduce((sum, { fileBytes }) => sum + fileBytes, 0),
  };
}

function memoryOfOne(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
  return { residentBytes: field('VmRSS'), fileBytes: field('RssFile') };
}
