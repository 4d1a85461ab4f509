/**
 * The steps of a takeover as the log tells them, in their order. A kill waits for one of them, and the times between
 * them are what a takeover consists of.
 */
import type { ServiceProcess } from '../support/process.ts';

export interface Step {
  readonly name: string;
  readonly by: 'predecessor' | 'successor';
  readonly pattern: RegExp;
}

export const steps = [
  { name: 'accepted', by: 'predecessor', pattern: /"msg":"a successor is booting/ },
  { name: 'ready', by: 'predecessor', pattern: /"msg":"the successor is ready/ },
  { name: 'yielded', by: 'predecessor', pattern: /"msg":"yielded to the successor/ },
  { name: 'listening', by: 'predecessor', pattern: /"msg":"the successor listens/ },
  { name: 'serving', by: 'successor', pattern: /"msg":"ready"/ },
  { name: 'taken over', by: 'predecessor', pattern: /"msg":"the successor has taken over/ },
] as const satisfies readonly Step[];

export type StepName = (typeof steps)[number]['name'];

export function step(name: StepName): Step {
  const found = steps.find((one) => one.name === name);
  if (found === undefined) throw new Error(`Cannot find the step ${name}`);
  return found;
}

export interface Interval {
  /** Up to this step, from the one before. */
  readonly name: string;
  readonly ms: number;
}

/** A takeover as the logs of both tell it. A predecessor may have seen others before: its log counts from here on. */
export class TakeoverLog {
  readonly #predecessor: ServiceProcess;
  readonly #successor: ServiceProcess;
  readonly #from: number;
  readonly #begunMs = Date.now();

  constructor(predecessor: ServiceProcess, successor: ServiceProcess) {
    this.#predecessor = predecessor;
    this.#successor = successor;
    this.#from = predecessor.stderr.length;
  }

  /** Resolves at that step; also when the process that comes to it ends before. */
  async reaches({ by, pattern }: Step): Promise<void> {
    if (by === 'predecessor') await this.#predecessor.said(pattern, this.#from);
    else await this.#successor.said(pattern);
  }

  hasReached(wanted: Step): boolean {
    return this.#lineOf(wanted) !== undefined;
  }

  /** The last step that was told of. */
  get last(): string {
    return steps.findLast((one) => this.hasReached(one))?.name ?? 'start';
  }

  /** A step that neither tells of is left out. */
  intervals(): Interval[] {
    const intervals: Interval[] = [];
    let beforeMs = this.#begunMs;
    for (const one of steps) {
      const line = this.#lineOf(one);
      if (line === undefined) continue;
      const atMs = timeOf(line);
      intervals.push({ name: one.name, ms: atMs - beforeMs });
      beforeMs = atMs;
    }
    return intervals;
  }

  #lineOf({ by, pattern }: Step): string | undefined {
    const { stderr } = by === 'predecessor' ? this.#predecessor : this.#successor;
    const text = by === 'predecessor' ? stderr.slice(this.#from) : stderr;
    return text.split('\n').find((line) => pattern.test(line));
  }
}

function timeOf(line: string | undefined): number {
  const { time }: { readonly time?: string } = JSON.parse(line ?? '{}');
  return Date.parse(time ?? '');
}
