/**
 * Measures the CPU seconds of one test file: of the worker and of every process below it. Vitest evaluates this file
 * before each test file, so the import of the test file counts too.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';
import { kindOf } from './kinds.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Of a test file: what it and its processes used. */
    cpuSeconds?: number;
  }
}

const root = new URL('../..', import.meta.url).pathname;
/** The kernel's USER_HZ, the same on every Linux. */
const ticksPerSecond = 100;

interface ProcessTime {
  readonly parent: number;
  /** Its own, and that of its children that ended. */
  readonly ticks: number;
}

function readProcesses(): Map<number, ProcessTime> {
  const processes = new Map<number, ProcessTime>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // "pid (name) state ppid …": the name may hold spaces and brackets; utime is the 14th field.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      const ticks = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
      processes.set(Number(name), { parent: fields[1] ?? 0, ticks });
    } catch {
      // It ended meanwhile; its parent has its time.
    }
  }
  return processes;
}

/** Seconds of this process and of all below it; elsewhere than on Linux of this process alone. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (process.platform !== 'linux') return own;
  const processes = readProcesses();
  const isBelow = (pid: number): boolean => {
    const parent = processes.get(pid)?.parent ?? 0;
    return parent === process.pid || (parent > 1 && isBelow(parent));
  };
  let ticks = 0;
  for (const [pid, time] of processes) {
    if (pid === process.pid || isBelow(pid)) ticks += time.ticks;
  }
  return ticks / ticksPerSecond;
}

let processes = 0;
const onProcess = (): void => void (processes += 1);
subscribe('child_process', onProcess);
const before = cpuSeconds();

// oxlint-disable-next-line no-empty-pattern -- vitest demands a pattern here
afterAll(({}, { file }) => {
  file.meta.cpuSeconds = cpuSeconds() - before;
  unsubscribe('child_process', onProcess);
  const path = relative(root, file.filepath);
  if (kindOf(path) === 'fast') {
    expect(processes, `${path} starts processes: name it .whole.test.ts`).toBe(0);
  }
});
