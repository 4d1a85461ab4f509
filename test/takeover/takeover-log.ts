/**
 * The steps of a takeover in their order, each recognized by a line in the log of one of the two processes. Kills and
 * signals wait for a step, and the times between steps add up to the takeover's duration.
 */
import type { ServiceProcess } from '../support/process.ts';

export type Role = 'predecessor' | 'successor';

export const stepNames = [
  'accepted',
  'ready',
  'yielded',
  'listening',
  'serving',
  'taken over',
] as const;

export type StepName = (typeof stepNames)[number];

const steps: Readonly<Record<StepName, { readonly by: Role; readonly pattern: RegExp }>> = {
  accepted: { by: 'predecessor', pattern: /"msg":"a successor is booting/ },
  ready: { by: 'predecessor', pattern: /"msg":"the successor is ready/ },
  yielded: { by: 'predecessor', pattern: /"msg":"yielded to the successor/ },
  listening: { by: 'predecessor', pattern: /"msg":"the successor listens/ },
  serving: { by: 'successor', pattern: /"msg":"ready"/ },
  'taken over': { by: 'predecessor', pattern: /"msg":"the successor has taken over/ },
};

export interface Interval {
  /** It ends with this step and begins with the step before. */
  readonly name: StepName;
  readonly ms: number;
}

/** One takeover in the logs of its two processes; the predecessor's log may hold earlier ones. */
export class TakeoverLog {
  readonly #predecessor: ServiceProcess;
  readonly #successor: ServiceProcess;
  readonly #from: number;
  readonly #startedMs = Date.now();

  constructor(predecessor: ServiceProcess, successor: ServiceProcess) {
    this.#predecessor = predecessor;
    this.#successor = successor;
    this.#from = predecessor.stderr.length;
  }

  /** Resolves at that step, or when the process that logs it ends. */
  async reaches(name: StepName): Promise<void> {
    const { by, pattern } = steps[name];
    if (by === 'predecessor') await this.#predecessor.said(pattern, this.#from);
    else await this.#successor.said(pattern);
  }

  hasReached(name: StepName): boolean {
    return this.#lineOf(name) !== undefined;
  }

  /** The last step that is logged. */
  get last(): StepName | 'start' {
    return stepNames.findLast((name) => this.hasReached(name)) ?? 'start';
  }

  /** Without the steps that neither process has logged. */
  intervals(): Interval[] {
    const intervals: Interval[] = [];
    let beforeMs = this.#startedMs;
    for (const name of stepNames) {
      const line = this.#lineOf(name);
      if (line === undefined) continue;
      const { time }: { readonly time: string } = JSON.parse(line);
      const atMs = Date.parse(time);
      intervals.push({ name, ms: atMs - beforeMs });
      beforeMs = atMs;
    }
    return intervals;
  }

  #lineOf(name: StepName): string | undefined {
    const { by, pattern } = steps[name];
    const { stderr } = by === 'predecessor' ? this.#predecessor : this.#successor;
    const text = by === 'predecessor' ? stderr.slice(this.#from) : stderr;
    return text.split('\n').find((line) => pattern.test(line));
  }
}
