/**
 * The steps of a takeover in their order, each recognized by a line in the log of one of the two processes. Kills and
 * signals wait for a step.
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

/** One takeover in the logs of its two processes; the predecessor's log may hold earlier ones. */
export class TakeoverLog {
  readonly #predecessor: ServiceProcess;
  readonly #successor: ServiceProcess;
  readonly #from: number;

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

  /** Resolves when the predecessor has seen that its successor is dead, if it asked it, or has ended. */
  async noticesDeath(): Promise<void> {
    if (this.last === 'start') return;
    const noticed = /"msg":"the (successor has died|successor listens)/;
    await this.#predecessor.said(noticed, this.#from);
  }

  hasReached(name: StepName): boolean {
    const { by, pattern } = steps[name];
    const { stderr } = by === 'predecessor' ? this.#predecessor : this.#successor;
    return pattern.test(by === 'predecessor' ? stderr.slice(this.#from) : stderr);
  }

  /** The last step that is logged. */
  get last(): StepName | 'start' {
    return stepNames.findLast((name) => this.hasReached(name)) ?? 'start';
  }
}
