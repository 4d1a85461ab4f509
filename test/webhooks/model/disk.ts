/**
 * The files of one process at a time, and where it dies: before or behind any write of the stores and of the result
 * journal. What is on the disk then is copied, and the next process begins with the copy; the dead one writes no more.
 *
 * An asynchronous transaction is committed at once, some event loop cycles after it was asked for, and reported some
 * cycles later, so that a seed gives the same run every time.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../../src/model/failure.ts';
import { type JournaledResult, ResultJournal } from '../../../src/store/delivery/result-journal.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import type { Random } from '../../torture/random.ts';

const files = ['management.mdb', 'delivery.mdb', 'delivery.results.0', 'delivery.results.1'];
const cyclesMax = 4;

/** The process died in a synchronous write. */
export class Killed extends Error {}

export const cycle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = (): Promise<never> => new Promise(() => undefined);

export interface DiskOptions {
  readonly root: string;
  readonly random: Random;
  readonly onJournaled: (results: readonly JournaledResult[]) => void;
}

export class Disk {
  readonly root: string;
  /** Of the process that runs. */
  folder: string;
  /** Writes until it dies. */
  writesLeft = Number.MAX_SAFE_INTEGER;
  /** Of a transaction: the disk is full. */
  fullChance = 0;
  isDead = false;
  /** Resolves when the process has died. */
  killed: Promise<void> = never();
  #die: () => void = () => undefined;
  #processes = 0;
  readonly #restore: ReadonlyArray<() => void>;

  constructor({ root, random, onJournaled }: DiskOptions) {
    this.root = root;
    this.folder = join(root, '0');
    this.#begin();
    this.#restore = [patchStores(this, random), patchJournals(this, onJournaled)];
  }

  #begin(): void {
    mkdirSync(this.folder);
    this.isDead = false;
    this.killed = new Promise((resolve) => (this.#die = resolve));
  }

  /** Begins the next process with what is on the disk. */
  next(): void {
    const before = this.folder;
    this.#processes += 1;
    this.folder = join(this.root, String(this.#processes));
    this.#begin();
    for (const file of files) {
      if (existsSync(join(before, file))) copyFileSync(join(before, file), join(this.folder, file));
    }
  }

  kill(): void {
    this.isDead = true;
    this.#die();
  }

  /** A write, or the end of one. @returns whether the process lives */
  write(): boolean {
    if (this.isDead) return false;
    this.writesLeft -= 1;
    if (this.writesLeft <= 0) this.kill();
    return !this.isDead;
  }

  /** Whether it is of the process that runs. */
  isAlive(path: string): boolean {
    return path.startsWith(`${this.folder}/`) && !this.isDead;
  }

  isOf(path: string): boolean {
    return path.startsWith(`${this.root}/`);
  }

  /** Stores and journals are as they were; what dead processes left open is closed. */
  close(): void {
    for (const restore of this.#restore) restore();
  }
}

function patchStores(disk: Disk, random: Random): () => void {
  // Both are called with their own `this`.
  // oxlint-disable-next-line typescript/unbound-method
  const { transaction, transactionSync } = StoreEnvironment.prototype;
  StoreEnvironment.prototype.transaction = async function <T>(
    this: StoreEnvironment,
    work: () => T,
  ): Promise<T> {
    if (!disk.isOf(this.path)) return (await transaction.call(this, work)) as T;
    for (let left = random.between(0, cyclesMax); left > 0; left--) await cycle();
    if (!disk.isAlive(this.path) || !disk.write()) return await never();
    const isFull = random.chance(disk.fullChance);
    const result = transactionSync.call(this, () => {
      const done = work();
      if (isFull) throw new Failure('storage_full', 'The disk is full');
      return done;
    });
    if (!disk.write()) return await never();
    for (let left = random.between(0, cyclesMax); left > 0; left--) await cycle();
    return disk.isAlive(this.path) ? (result as T) : await never();
  };
  StoreEnvironment.prototype.transactionSync = function <T>(
    this: StoreEnvironment,
    work: () => T,
  ): T {
    if (!disk.isOf(this.path)) return transactionSync.call(this, work) as T;
    if (!disk.isAlive(this.path) || !disk.write()) throw new Killed();
    const result = transactionSync.call(this, work);
    if (!disk.write()) throw new Killed();
    return result as T;
  };
  return () => void Object.assign(StoreEnvironment.prototype, { transaction, transactionSync });
}

function patchJournals(disk: Disk, onJournaled: DiskOptions['onJournaled']): () => void {
  // All are called with their own `this`.
  // oxlint-disable-next-line typescript/unbound-method
  const { append, markCommitted, clear, close } = ResultJournal.prototype;
  /** A journal has no path: it is of the process that first used it. */
  const folders = new Map<ResultJournal, string>();
  const isAlive = (journal: ResultJournal): boolean => {
    const folder = folders.get(journal) ?? disk.folder;
    folders.set(journal, folder);
    return folder === disk.folder && !disk.isDead;
  };
  ResultJournal.prototype.append = function (results) {
    if (!isAlive(this) || !disk.write()) return;
    append.call(this, results);
    onJournaled(results);
    disk.write();
  };
  ResultJournal.prototype.markCommitted = function () {
    if (!isAlive(this) || !disk.write()) return;
    markCommitted.call(this);
    disk.write();
  };
  ResultJournal.prototype.clear = function () {
    if (!isAlive(this) || !disk.write()) throw new Killed();
    clear.call(this);
    if (!disk.write()) throw new Killed();
  };
  ResultJournal.prototype.close = function () {
    folders.delete(this);
    close.call(this);
  };
  return () => {
    for (const journal of folders.keys()) journal.close();
    Object.assign(ResultJournal.prototype, { append, markCommitted, clear, close });
  };
}
