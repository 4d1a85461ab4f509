/**
 * A limit of memory as a container has it: a control group for the service, below the group of this process (version 1) or
 * beside it (version 2, which allows no processes in a group with groups). Undefined where we may not make one.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const root = '/sys/fs/cgroup';
/** A group can be removed a moment after its last process has ended. */
const removalTries = 50;
const pollMs = 100;

export interface GroupFigures {
  /** The most that was charged at a time: memory of processes and of the kernel, and pages of files not yet taken back. */
  readonly highestBytes: number;
  /** Memory of processes now: what cannot be taken back. */
  readonly processBytes: number;
  /** How often the limit was met and pages had to be taken back. */
  readonly limitMet: number;
  readonly killed: number;
}

interface Files {
  readonly limit: string;
  readonly highest: string;
  readonly process: RegExp;
  readonly met: readonly [file: string, field: RegExp];
  readonly killed: readonly [file: string, field: RegExp];
}

const version1: Files = {
  limit: 'memory.limit_in_bytes',
  highest: 'memory.max_usage_in_bytes',
  process: /^rss (\d+)$/m,
  met: ['memory.failcnt', /^(\d+)$/m],
  killed: ['memory.oom_control', /^oom_kill (\d+)$/m],
};
const version2: Files = {
  limit: 'memory.max',
  highest: 'memory.peak',
  process: /^anon (\d+)$/m,
  met: ['memory.events', /^max (\d+)$/m],
  killed: ['memory.events', /^oom_kill (\d+)$/m],
};

export class MemoryGroup {
  readonly #folder: string;
  readonly #files: Files;

  private constructor(folder: string, files: Files) {
    this.#folder = folder;
    this.#files = files;
  }

  /** Only root may, on most machines. */
  static open(limitBytes: number): MemoryGroup | undefined {
    const own = readFileSync('/proc/self/cgroup', 'utf8');
    const name = `quietzone-bench-${process.pid}`;
    const path1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own)?.[1];
    const path2 = /^0::(.*)$/m.exec(own)?.[1] ?? '/';
    return path1 === undefined
      ? make(join(root, dirname(path2), name), version2)
      : make(join(root, 'memory', path1, name), version1);

    function make(folder: string, files: Files): MemoryGroup | undefined {
      try {
        mkdirSync(folder);
      } catch {
        return undefined;
      }
      try {
        if (!existsSync(join(folder, files.limit))) throw new Error('no memory controller');
        writeFileSync(join(folder, files.limit), String(limitBytes));
        return new MemoryGroup(folder, files);
      } catch {
        rmdirSync(folder);
        return undefined;
      }
    }
  }

  /** A process that writes its id here is in the group, and so are its children. */
  get processes(): string {
    return join(this.#folder, 'cgroup.procs');
  }

  figures(): GroupFigures {
    const { highest, process, met, killed } = this.#files;
    return {
      highestBytes: this.#read(highest, /^(\d+)$/m),
      processBytes: this.#read('memory.stat', process),
      limitMet: this.#read(...met),
      killed: this.#read(...killed),
    };
  }

  async close(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        rmdirSync(this.#folder);
        return;
      } catch (error) {
        if (tries === removalTries) throw error;
        await wait(pollMs);
      }
    }
  }

  #read(file: string, field: RegExp): number {
    return Number(field.exec(readFileSync(join(this.#folder, file), 'utf8'))?.[1] ?? 0);
  }
}
