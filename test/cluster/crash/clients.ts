/**
 * Clients that write and read: at the core that said last that it leads, and now and then at another, which must refuse.
 * At a steady rate, whether or not earlier requests were answered; or each caller again as soon as it is answered.
 */
import type { Random } from '../../crash/random.ts';
import { pause } from '../../support/process.ts';
import type { Core, Outcome } from './core.ts';
import type { Ledger } from './ledger.ts';
import type { Write } from './messages.ts';

export interface ClientsOptions {
  readonly cores: readonly Core[];
  readonly ledger: Ledger;
  readonly random: Random;
  readonly load: Load;
}

export interface Load {
  /** Writes each second; 0: each caller writes again when it is answered. */
  readonly perSecond: number;
  readonly callers: number;
  /** Only small writes, at the leader: for figures. */
  readonly isPlain: boolean;
}

/** Share of requests at any core: most refuse. A leader that others have replaced must not answer what it last knew. */
const otherWrites = 0.05;
const otherReads = 0.6;
const throwingShare = 0.05;
const largeShare = 0.01;
/** Up to three entries. */
const largeBytesMax = 1_300_000;
const sharedKeys = 40;
const readsPerSecond = 40;
/** At one core: what does not answer is asked no more. A leader that is cut off answers no write, and reads for a lease. */
const waitingMax = { write: 300, read: 1_000 };
const refusedMs = 20;

export class Clients {
  readonly #options: ClientsOptions;
  readonly #outstanding = new Set<Promise<void>>();
  #writes = 0;
  #isOn = false;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isOn = true;
    const { perSecond, callers, isPlain } = this.#options.load;
    const writers =
      perSecond > 0
        ? [this.#atRate(perSecond, () => this.#write())]
        : Array.from({ length: callers }, () => this.#inSequence());
    const readers = isPlain ? [] : [this.#atRate(readsPerSecond, () => this.#read())];
    this.#ended = Promise.all([...writers, ...readers]);
  }

  /** Sends nothing more; what was sent may still be answered. */
  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#ended;
  }

  /** Resolves when everything that was sent is answered, or its core is dead. */
  async settled(msMax: number): Promise<void> {
    await Promise.race([Promise.all(this.#outstanding), pause(msMax)]);
  }

  async #atRate(perSecond: number, act: () => Promise<unknown>): Promise<void> {
    const startMs = performance.now();
    for (let no = 1; this.#isOn; no++) {
      const acted = act();
      const settled = acted.then(() => void this.#outstanding.delete(settled));
      this.#outstanding.add(settled);
      await pause(startMs + (no * 1_000) / perSecond - performance.now());
    }
  }

  async #inSequence(): Promise<void> {
    while (this.#isOn) {
      const outcome = await this.#write();
      if (outcome?.kind !== 'done') await pause(refusedMs);
    }
  }

  async #write(): Promise<Outcome | undefined> {
    const core = this.#target(otherWrites);
    if (core === undefined || core.waiting >= waitingMax.write) return undefined;
    const write = this.#drawWrite();
    const answered = this.#options.ledger.sent(write);
    const outcome = await core.ask((id) => ({ kind: 'write', id, write }));
    answered(outcome);
    return outcome;
  }

  async #read(): Promise<void> {
    const core = this.#target(otherReads);
    if (core === undefined || core.waiting >= waitingMax.read) return;
    const answered = this.#options.ledger.asked(core.name);
    answered(await core.ask((id) => ({ kind: 'read', id })));
  }

  /** The core that leads, as far as is known; any while none does, and now and then. */
  #target(otherShare: number): Core | undefined {
    const { cores, random, load } = this.#options;
    const up = cores.filter(({ isUp }) => isUp);
    if (up.length === 0) return undefined;
    if (!load.isPlain && random.chance(otherShare)) return random.pick(up);
    return activeOf(up) ?? random.pick(up);
  }

  #drawWrite(): Write {
    const { random, load } = this.#options;
    const draw = (share: number): boolean => !load.isPlain && random.chance(share);
    return {
      name: `w${++this.#writes}`,
      puts: `shared ${random.between(0, sharedKeys)}`,
      removes: `shared ${random.between(0, sharedKeys)}`,
      largeBytes: draw(largeShare) ? random.between(1, largeBytesMax) : 0,
      isThrowing: draw(throwingShare),
    };
  }
}

/** Of the cores that say that they lead, the one with the highest epoch. */
export function activeOf(cores: readonly Core[]): Core | undefined {
  const leading = cores.filter(({ epoch }) => epoch !== undefined);
  return leading.toSorted((one, other) => (other.epoch ?? 0) - (one.epoch ?? 0))[0];
}
