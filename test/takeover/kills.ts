/**
 * `kill -9` of either process during takeovers, under load. Every second kill comes within milliseconds of a step in the
 * log, each step in its order; the others at any moment of the time that a takeover takes.
 *
 *   killed                         what serves afterwards                            within
 *   successor before `ready`       the predecessor, as before                        2 s
 *   successor after it             another start; the predecessor redirects until it  a start and 2 s
 *   predecessor                    the successor alone                               2 s, while it boots a start and 2 s
 *
 * This script is the supervisor. After each kill exactly one process serves, and another takeover completes. No scan that was
 * answered is lost; a scan in flight may be counted.
 */
import { pause, type ServiceProcess } from '../support/process.ts';
import { Random } from '../crash/random.ts';
import {
  isAlive,
  type ServiceOptions,
  type ServiceResult,
  ServiceUnderLoad,
} from './service-under-load.ts';
import { type Role, stepNames, TakeoverLog } from './takeover-log.ts';

export interface KillsOptions extends ServiceOptions {
  readonly kills: number;
}

const servedMsMax = 2_000;
/** A service that does not serve for so long does not come back. */
const waitMsMax = 40_000;
const delayMsMax = 5;
const steadyMsMax = 400;

export async function runKills(options: KillsOptions): Promise<ServiceResult> {
  const random = new Random(options.seed);
  const service = await ServiceUnderLoad.open(options);
  try {
    const killer = new Killer(service, random, await service.takeOver());
    for (let number = 1; number <= options.kills; number++) {
      await pause(random.between(0, steadyMsMax));
      await killer.kill(number);
      await service.takeOver(drawSettings(random));
    }
    return await service.finish();
  } finally {
    await service.close();
  }
}

/** Other numbers of threads than before: journals and shards are cut differently. */
function drawSettings(random: Random): Record<string, string> {
  return {
    QZ_REDIRECT_THREADS: String(random.between(1, 3)),
    QZ_SCANS_SHARDS: String(random.between(1, 4)),
    QZ_SCANS_SEGMENT_MS_MAX: String(random.pick([10, 500, 60_000])),
  };
}

class Killer {
  readonly #service: ServiceUnderLoad;
  readonly #random: Random;
  /** How long a takeover takes on this machine. */
  readonly #usualMs: number;

  constructor(service: ServiceUnderLoad, random: Random, usualMs: number) {
    this.#service = service;
    this.#random = random;
    this.#usualMs = usualMs;
  }

  async kill(number: number): Promise<void> {
    const service = this.#service;
    const predecessor = service.current;
    const successor = service.startSuccessor(drawSettings(this.#random));
    const processes = { predecessor, successor };
    const victim = this.#random.pick<Role>(['predecessor', 'successor']);
    const log = new TakeoverLog(predecessor, successor);
    const moment = await this.#moment(number, log);
    const { scans } = service.load.ledger;
    const after = log.last;
    const killedMs = performance.now();
    await service.kill(processes[victim]);
    if (victim === 'successor') await log.noticesDeath();
    const hasYielded = !isAlive(predecessor) || log.hasReached('ready');
    const survivor =
      victim === 'successor' && hasYielded ? 'none' : await this.#survivor(victim, processes);
    if (victim === 'successor' && log.hasReached('listening')) await predecessor.exit;
    service.current = survivor === 'none' ? service.start(['serve']) : processes[survivor];
    const serves = await service.servesWithin(waitMsMax);
    const servedMs = serves ? performance.now() - killedMs : undefined;
    const isBooting = survivor === 'none' || !log.hasReached('taken over');
    if (survivor === 'none') await predecessor.exit;
    const limitMs = isBooting ? this.#usualMs * 2 + servedMsMax : servedMsMax;
    if (servedMs === undefined || servedMs > limitMs) {
      service.note(`kill ${number}: served after ${servedMs ?? waitMsMax} ms, at most ${limitMs}`);
    }
    if (isAlive(predecessor) && isAlive(successor)) {
      service.note(`kill ${number}: both processes run`);
    }
    console.log(
      `kill ${number} of the ${victim}, ${moment} (after ${after}, ${scans} scans): ` +
        `${survivor} is left and serves after ${servedMs?.toFixed(0) ?? '-'} ms`,
    );
  }

  /** Resolves when the kill is due. */
  async #moment(number: number, log: TakeoverLog): Promise<string> {
    if (number % 2 === 0) {
      const ms = this.#random.next() * this.#usualMs * 1.1;
      await pause(ms);
      return `after ${ms.toFixed(1)} ms`;
    }
    const step = stepNames[((number - 1) / 2) % stepNames.length] ?? 'accepted';
    const delayMs = this.#random.next() * delayMsMax;
    await Promise.race([log.reaches(step), pause(waitMsMax)]);
    if (this.#random.chance(0.7)) await pause(delayMs);
    return `${step} and ${delayMs.toFixed(1)} ms`;
  }

  /** The process that was not killed; `none` when it was a predecessor that ended by itself. */
  async #survivor(
    victim: Role,
    processes: Readonly<Record<Role, ServiceProcess>>,
  ): Promise<Role | 'none'> {
    const other = victim === 'successor' ? 'predecessor' : 'successor';
    if (isAlive(processes[other])) return other;
    const { code, signal } = await processes[other].exit;
    const hasEnded = other === 'predecessor' && code === 0;
    if (!hasEnded) this.#service.note(`the ${other} ended with ${code ?? signal} at the kill`);
    return 'none';
  }
}
