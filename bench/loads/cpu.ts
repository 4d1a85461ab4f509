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

interface Task {
  readonly tid: number;
  /** What Linux says of it. */
  readonly folder: string;
  /** On a CPU since its start. */
  readonly nanoseconds: number;
}

/** The threads of the process and its children. Those that ended are not among them. */
function tasksOf(pid: number): Task[] {
  const tasks: Task[] = [];
  for (const process of processesOf(pid)) {
    for (const tid of readdirSync(`/proc/${process}/task`)) {
      const folder = `/proc/${process}/task/${tid}`;
      const nanoseconds = oneThread(folder);
      if (nanoseconds !== undefined) tasks.push({ tid: Number(tid), folder, nanoseconds });
    }
  }
  return tasks;
}

/** Nanoseconds on a CPU since the start, by thread id. */
export function threadNanoseconds(pid: number): Map<number, number> {
  return new Map(tasksOf(pid).map(({ tid, nanoseconds }) => [tid, nanoseconds]));
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

export interface Thread {
  readonly kind: string;
  readonly nanoseconds: number;
  /** How often it has gone to sleep since it started, each time to be woken again. */
  readonly sleeps: number;
}

/**
 * By thread id, by what they are: Node names few, so the others are known by what they wait for, an event loop in epoll,
 * V8's own in a futex. `redirect` is the id of the thread that redirects. Those that end meanwhile
 * are left out.
 */
export function threadsOf(pid: number, redirect: number): Map<number, Thread> {
  const threads = new Map<number, Thread>();
  for (const { tid, folder, nanoseconds } of tasksOf(pid)) {
    try {
      const status = readFileSync(`${folder}/status`, 'utf8');
      const sleeps = Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
      const kind = tid === redirect ? 'redirect' : kindOf(pid, tid, folder);
      threads.set(tid, { kind, nanoseconds, sleeps });
    } catch {
      // It has ended.
    }
  }
  return threads;
}

function kindOf(pid: number, tid: number, folder: string): string {
  if (tid === pid) return 'main';
  const own = readFileSync(`${folder}/comm`, 'utf8').trim();
  if (own !== readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) return own;
  // Pool threads too, where any has started.
  return waitsInEpoll(folder) ? 'shards' : 'V8';
}

const triesMax = 1_000;

/** Whether a thread waits in epoll when it waits: one that runs is asked again, a millisecond later. */
function waitsInEpoll(folder: string): boolean {
  const pause = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  for (let tries = 0; tries < triesMax; tries++) {
    const place = readFileSync(`${folder}/wchan`, 'utf8');
    if (place.includes('epoll')) return true;
    if (place.includes('futex')) return false;
    Atomics.wait(pause, 0, 0, 1);
  }
  return false;
}

export interface Memory {
  readonly residentBytes: number;
  /** Of these, private and copied pages: heaps, stacks, buffers. */
  readonly anonymousBytes: number;
  /** Of these, pages of files (LMDB, programs): the system takes them back when it needs them. */
  readonly fileBytes: number;
  /** Of these, shared pages without a file. */
  readonly sharedBytes: number;
}

export function memoryOf(pid: number): Memory {
  const all = processesOf(pid).map((process) => readFileSync(`/proc/${process}/status`, 'utf8'));
  const sum = (name: string): number =>
    all.reduce((bytes, status) => bytes + fieldOf(status, name), 0);
  return {
    residentBytes: sum('VmRSS'),
    anonymousBytes: sum('RssAnon'),
    fileBytes: sum('RssFile'),
    sharedBytes: sum('RssShmem'),
  };
}

function fieldOf(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
}
