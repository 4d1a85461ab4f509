/** Takeovers: a new process takes over from a running one, and clients notice nothing. takeover/faults.ts breaks them. */
import { pause, type ServiceProcess } from '../../support/process.ts';
import { milliseconds, quantile } from '../report.ts';
import { isAlive, Site, type SiteOptions, type SiteResult } from '../site.ts';

export interface TakeoverOptions extends SiteOptions {
  /** Scans, on new and on kept connections together. */
  readonly perSecond: number;
  /** A predecessor waits up to ten seconds for kept connections that are idle. */
  readonly isMostlyIdle: boolean;
}

export interface TakeoversOptions extends TakeoverOptions {
  readonly takeovers: number;
  /** Between two takeovers, before the first and after the last. */
  readonly steadyMs: number;
  /** Response times and resets are judged too: for a machine that does nothing else. */
  readonly isTimed: boolean;
}

/** Of all scans: those on kept connections. */
const keptShare = 0.1;
/** By then there are codes to scan. */
const firstWrites = 12;
const takeoverMsMax = 60_000;
const resetsPer100kMax = 1;
const slowerMax = 2;

/** The steps in their order, each recognized by a line in the log of one of the two processes. */
const steps = {
  accepted: ['predecessor', /"msg":"a successor is booting/],
  ready: ['predecessor', /"msg":"the successor is ready/],
  yielded: ['predecessor', /"msg":"yielded to the successor/],
  listening: ['predecessor', /"msg":"the successor listens/],
  serving: ['successor', /"msg":"ready"/],
  'taken over': ['predecessor', /"msg":"the successor has taken over/],
} as const;
export type Role = 'predecessor' | 'successor';
export type StepName = keyof typeof steps;
export const stepNames = Object.keys(steps) as readonly StepName[];

/** One takeover in the logs of its two processes; the predecessor's log may hold earlier ones. */
export class Takeover {
  readonly predecessor: ServiceProcess;
  readonly successor: ServiceProcess;
  readonly #from: number;

  constructor(predecessor: ServiceProcess, successor: ServiceProcess) {
    this.predecessor = predecessor;
    this.successor = successor;
    this.#from = predecessor.stderr.length;
  }

  /** Resolves at that step, or when the process that logs it ends. */
  async reaches(name: StepName): Promise<void> {
    const [by, pattern] = steps[name];
    await this[by].said(pattern, by === 'predecessor' ? this.#from : 0);
  }

  /** Resolves when the predecessor has seen that its successor is dead, if it asked it, or has ended. */
  async noticesDeath(): Promise<void> {
    if (this.last === 'start') return;
    const noticed = /"msg":"the (successor has died|successor listens)/;
    await this.predecessor.said(noticed, this.#from);
  }

  hasReached(name: StepName): boolean {
    const [by, pattern] = steps[name];
    return pattern.test(this[by].stderr.slice(by === 'predecessor' ? this.#from : 0));
  }

  /** The last step that is logged. */
  get last(): StepName | 'start' {
    return stepNames.findLast((name) => this.hasReached(name)) ?? 'start';
  }
}

/** A service that is taken over from: its current process, and the load. */
export class Takeovers {
  readonly site: Site;
  /** The process that serves. */
  current: ServiceProcess;

  private constructor(site: Site) {
    this.site = site;
    this.current = site.start();
  }

  /** @param hasQuietLogs whether a line above information is a fault */
  static async run(
    { perSecond, isMostlyIdle, ...options }: TakeoverOptions,
    work: (takeovers: Takeovers) => Promise<void>,
    hasQuietLogs = false,
  ): Promise<SiteResult> {
    const kept = { connections: isMostlyIdle ? 32 : 4, isMostlyIdle };
    const site = await Site.open(options, {
      phones: {
        'new connections': { connections: 'new', perSecond: perSecond * (1 - keptShare) },
        'kept connections': { ...kept, perSecond: perSecond * keptShare },
      },
      clients: { mayRefuse: true, hasLimits: true },
    });
    try {
      const takeovers = new Takeovers(site);
      await takeovers.current.ready();
      await site.isUnderWay(0, firstWrites, takeovers.current);
      await work(takeovers);
      const result = await site.finish(takeovers.current);
      if (hasQuietLogs) site.checkLogs();
      return result;
    } finally {
      await site.close();
    }
  }

  begin(environment: Record<string, string> = {}): Takeover {
    const successor = this.site.start(environment, ['serve', '--takeover']);
    return new Takeover(this.current, successor);
  }

  /** A successor takes over from the current process, to the end. @returns how long that took, in milliseconds */
  async takeOver(environment: Record<string, string> = {}): Promise<number> {
    const startedMs = performance.now();
    this.site.phase = 'takeover';
    const takeover = this.begin(environment);
    const { predecessor, successor } = takeover;
    const exit = await Promise.race([predecessor.exit, successor.exit, pause(takeoverMsMax)]);
    const ms = performance.now() - startedMs;
    this.site.phase = 'steady';
    if (exit === undefined || !isAlive(successor)) {
      const log = successor.stderr.slice(-2_000);
      throw new Error(`No takeover within ${milliseconds(ms)}:\n${log}`);
    }
    if (exit.code !== 0) this.site.ledger.note(`a predecessor ended with ${JSON.stringify(exit)}`);
    this.current = successor;
    await takeover.reaches('serving');
    return ms;
  }
}

/** Takeovers in a row. Nothing is killed, so each scan that was answered is counted, and no other. */
export async function runTakeovers(options: TakeoversOptions): Promise<SiteResult> {
  const takeInTurn = async (takeovers: Takeovers): Promise<void> => {
    for (let number = 1; number <= options.takeovers; number++) {
      await pause(options.steadyMs);
      const ms = await takeovers.takeOver();
      takeovers.site.ledger.tell(`takeover ${number}: ${milliseconds(ms)}`);
    }
    await pause(options.steadyMs);
  };
  const result = await Takeovers.run(options, takeInTurn, true);
  const { ledger, answered, counted, phones } = result;
  const extra = counted - answered - phones.reduce((sum, { unanswered }) => sum + unanswered, 0);
  if (extra > 0) ledger.note(`${extra} scans more are counted than answered`);
  const { faults, view } = phones[0]!;
  if (faults.refused > 0) ledger.note(`${faults.refused} connections were refused`);
  if (faults['timed out'] > 0) ledger.note(`${faults['timed out']} scans timed out`);
  if (!options.isTimed) return result;
  const resets = (faults.reset / Math.max(1, view.sent)) * 100_000;
  if (resets > resetsPer100kMax) ledger.note(`${resets.toFixed(1)} of 100,000 scans were reset`);
  const { steady, takeover } = view.latencies;
  const [before = 0, during = 0] = [steady, takeover].map((times) => quantile(times, 0.99));
  if (during > slowerMax * before) {
    ledger.note(`p99 ${milliseconds(during)} during takeovers, ${milliseconds(before)} steady`);
  }
  return result;
}
