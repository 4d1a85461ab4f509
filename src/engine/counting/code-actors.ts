/**
 * The actors of a shard's codes, and the committed blocks that they have not counted yet.
 *
 *   block --add--> uncounted --count--> actors, code by code --save--> summaries, days, months
 */
import type { ScanBlock } from './block.ts';
import { CodeActor } from './code-actor.ts';
import type { CodeExpiry } from './code-expiry.ts';
import type { Summaries } from './summaries.ts';
import { UncountedBlocks } from './uncounted-blocks.ts';
import type { CodeNo } from '../../model/numbers.ts';

/** Share of `actorsMax` that stays when the bound is passed, so that freeing is rare. */
const actorsKeptShare = 0.75;

export class CodeActors {
  readonly #summaries: Summaries;
  readonly #expiry: CodeExpiry;
  readonly #actors = new Map<number, CodeActor>();
  readonly #uncounted = new UncountedBlocks();
  /** Actors with scans since the last save, mostly in the order of the store's keys. */
  readonly #changed = new Set<CodeActor>();

  constructor(summaries: Summaries, expiry: CodeExpiry) {
    this.#summaries = summaries;
    this.#expiry = expiry;
  }

  get size(): number {
    return this.#actors.size;
  }

  get(codeNo: CodeNo): CodeActor {
    let actor = this.#actors.get(codeNo);
    if (actor === undefined) {
      actor = new CodeActor(codeNo, this.#summaries);
      this.#actors.set(codeNo, actor);
    }
    return actor;
  }

  add(block: ScanBlock, actors: readonly CodeActor[], windowNumber: number): void {
    const { sequence } = block;
    for (const actor of actors) {
      actor.follow(sequence);
      actor.lastWindow = windowNumber;
    }
    this.#uncounted.add(block);
    if (this.#uncounted.isFull) this.count();
  }

  count(): void {
    let actor: CodeActor | undefined;
    this.#uncounted.each(
      (block, group) => block.codeNo(group),
      (codeNo, block, group) => {
        if (actor?.codeNo === codeNo) actor.take(block, group);
        else actor = this.take(codeNo, block, group);
      },
    );
    this.#uncounted.clear();
  }

  /** Frees actors of expired codes before a save, which would restore their numbers. */
  freeExpired(): void {
    for (const codeNo of this.#expiry.codeNos) {
      const actor = this.#actors.get(codeNo);
      if (actor === undefined) continue;
      this.#actors.delete(codeNo);
      this.#changed.delete(actor);
    }
  }

  take(codeNo: CodeNo, block: ScanBlock, group: number): CodeActor {
    const actor = this.get(codeNo);
    actor.take(block, group);
    if (actor.isDirty) this.#changed.add(actor);
    return actor;
  }

  /** As `CodeActor.save`. @throws DamagedCounterError: undo, try again; the damaged actor then saves that it is frozen */
  save(): void {
    for (const actor of this.#changed) actor.save();
  }

  settle(): void {
    for (const actor of this.#changed) actor.settle();
    this.#changed.clear();
  }

  /** Frees saved actors beyond the bound, longest idle first. */
  freeIdle(actorsMax: number): void {
    if (this.#actors.size <= actorsMax) return;
    const ages = [...this.#actors.values()].map((actor) => actor.lastWindow).sort((a, b) => a - b);
    const threshold = ages[this.#actors.size - Math.floor(actorsMax * actorsKeptShare)]!;
    for (const [codeNo, actor] of this.#actors) {
      if (!actor.isDirty && actor.lastWindow < threshold) this.#actors.delete(codeNo);
    }
  }
}
