/**
 * `kill -9` of either process at any moment of a takeover, under load. Half of the kills come a few milliseconds after
 * a step that the log tells of, each step in its place; the others at any moment of the time that a takeover takes.
 *
 *   kill of    leaves                                     at most
 *   successor  the predecessor, that takes all back       2 s without service
 *   predecessor  the successor, that goes on alone        2 s, or what is left of its start and 2 s
 *   successor that has taken over                         nothing, and another start serves
 *
 * After each kill one process serves, and another takeover comes to its end. No scan that was answered is lost; what
 * was in flight may be counted.
 */
import { pause, type Ports, type ServiceProcess } from '../support/process.ts';
import { Random } from '../crash/random.ts';
import type { LoadSetting } from './load.ts';
import { isAlive, Stage, type StageResult } from './stage.ts';
import { step, steps, TakeoverLog } from './steps.ts';

export interface KillsOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly kills: number;
  readonly perSecond: number;
  readonly codes: number;
  readonly seed: number;
  /** Connections that are kept. */
  readonly kept?: LoadSetting['kept'];
  readonly onKill?: (kill: Kill) => void;
}

export type Victim = 'predecessor' | 'successor';

export interface Kill {
  readonly number: number;
  readonly victim: Victim;
  /** Of a step, or of the takeover's time. */
  readonly moment: string;
  /** The last step that the log told of before it. */
  readonly after: string;
  readonly survivor: Victim | 'none';
  /** From the kill until short links redirect and the API is ready. */
  readonly servedMs: number | undefined;
  readonly limitMs: number;
  /** Of changed codes' scans: what was sent before. */
  readonly scans: number;
}

export interface KillsResult extends StageResult {
  readonly kills: readonly Kill[];
}

const servedMsMax = 2_000;
/** A service that serves nothing for so long does not come back. */
const goneMsMax = 40_000;
const delayMsMax = 5;
const steadyMsMax = 400;

export async function runKills(options: KillsOptions): Promise<KillsResult> {
  const random = new Random(options.seed);
  const stage = await Stage.open(options);
  const kills: Kill[] = [];
  try {
    // How long a takeover takes here, for the moments that follow.
    const killer = new Killer(stage, random, (await stage.takeOver()).ms);
    for (let number = 1; number <= options.kills; number++) {
      await pause(random.between(0, steadyMsMax));
      const kill = await killer.kill(number);
      kills.push(kill);
      options.onKill?.(kill);
      await stage.takeOver(drawn(random));
    }
    return { ...(await stage.finish()), kills };
  } finally {
    await stage.close();
  }
}

/** Threads in other numbers than those before: journals and shards are cut differently. */
function drawn(random: Random): Record<string, string> {
  return {
    QZ_REDIRECT_THREADS: String(random.between(1, 3)),
    QZ_SCANS_SHARDS: String(random.between(1, 4)),
    QZ_SCANS_SEGMENT_BYTES_MAX: String(random.pick([65_536, 262_144, 67_108_864])),
    QZ_SCANS_SEGMENT_MS_MAX: String(random.pick([10, 500, 60_000])),
  };
}

class Killer {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #takeoverMs: number;

  constructor(stage: Stage, random: Random, takeoverMs: number) {
    this.#stage = stage;
    this.#random = random;
    this.#takeoverMs = takeoverMs;
  }

  async kill(number: number): Promise<Kill> {
    const stage = this.#stage;
    const predecessor = stage.current;
    const successor = stage.successor(drawn(this.#random));
    const victim = this.#random.pick<Victim>(['predecessor', 'successor']);
    const log = new TakeoverLog(predecessor, successor);
    const moment = await this.#moment(number, log);
    const { scans } = await stage.load.count();
    const after = log.last;
    const hasBooted = log.hasReached(step('ready'));
    const isAlone = !isAlive(predecessor) || log.hasReached(step('taken over'));
    // From now on what is taken is of a new life: whichever process sends it.
    stage.receipts.killed();
    stage.receipts.started();
    const killed = victim === 'predecessor' ? predecessor : successor;
    const killedMs = performance.now();
    stage.killed(killed);
    await killed.kill();
    const survivor = await this.#survivor(victim, predecessor, successor, isAlone);
    if (survivor === undefined) stage.current = stage.start(['serve']);
    else stage.current = survivor === 'predecessor' ? predecessor : successor;
    const servedMs = (await stage.serves(goneMsMax)) ? performance.now() - killedMs : undefined;
    const isStart = survivor === undefined || !hasBooted;
    const limitMs = isStart ? this.#takeoverMs * 2 + servedMsMax : servedMsMax;
    if (servedMs === undefined || servedMs > limitMs) {
      stage.note(`kill ${number}: served after ${servedMs ?? goneMsMax} ms, at most ${limitMs}`);
    }
    const both = isAlive(predecessor) && isAlive(successor);
    if (both) stage.note(`kill ${number}: both processes run`);
    return {
      number,
      victim,
      moment,
      after,
      survivor: survivor ?? 'none',
      servedMs,
      limitMs,
      scans,
    };
  }

  /** Resolves when the kill is due. */
  async #moment(number: number, log: TakeoverLog): Promise<string> {
    if (number % 2 === 0) {
      const ms = this.#random.next() * this.#takeoverMs * 1.1;
      await pause(ms);
      return `after ${ms.toFixed(1)} ms`;
    }
    const wanted = steps[((number - 1) / 2) % steps.length] ?? steps[0];
    const delayMs = this.#random.next() * delayMsMax;
    await Promise.race([log.reaches(wanted), pause(goneMsMax)]);
    if (this.#random.chance(0.7)) await pause(delayMs);
    return `${wanted.name} and ${delayMs.toFixed(1)} ms`;
  }

  /** Which process is left; undefined when the one that served alone was killed. */
  async #survivor(
    victim: Victim,
    predecessor: ServiceProcess,
    successor: ServiceProcess,
    isAlone: boolean,
  ): Promise<Victim | undefined> {
    if (victim === 'successor' && isAlone) {
      await predecessor.exit;
      return undefined;
    }
    const [name, left] =
      victim === 'successor'
        ? (['predecessor', predecessor] as const)
        : (['successor', successor] as const);
    if (isAlive(left)) return name;
    const { code, signal } = await left.exit;
    // It ended by itself in the moment of the kill: its successor was the last one.
    if (name === 'predecessor' && code === 0) return undefined;
    this.#stage.note(`the ${name} ended with ${code ?? signal} when the other one was killed`);
    return undefined;
  }
}
