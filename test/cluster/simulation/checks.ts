/** What must be true of the machines at the end of a run; each returns what is not. */
import { chainAfter } from '../../../src/cluster/log/entry.ts';
import type { MemoryStream } from '../log/memory-stream.ts';
import type { Machine } from './machine.ts';

/** What a client asked for: the next number of the counter, kept under the write's name. */
export interface Write {
  readonly name: string;
  /** `undone`: its work threw. `unknown`: the machine died before it answered. */
  answer: 'done' | 'refused' | 'undone' | 'unknown';
  /** What the counter gave. */
  value: number | undefined;
}

/** Machines that have replayed the same log have the same table. */
export function differing(machines: readonly Machine[]): string[] {
  const faults: string[] = [];
  for (const [at, { name, store }] of machines.entries()) {
    for (const other of machines.slice(at + 1)) {
      const { seq, chain } = store.position();
      if (Buffer.compare(chain, other.store.position().chain) !== 0) continue;
      const [records, others] = [store.records(), other.store.records()];
      const isEqual =
        records.size === others.size &&
        [...records].every(([key, value]) => others.get(key) === value);
      if (!isEqual) faults.push(`${name} and ${other.name} differ at ${seq}`);
    }
  }
  return faults;
}

/** What was applied is what the log has at its place. */
export function aheadOfLog({ name, store }: Machine, stream: MemoryStream): string[] {
  const { seq, before, chain } = store.position();
  const isInLog = seq === 0 || Buffer.compare(chainAfter(before, stream.at(seq)), chain) === 0;
  return isInLog ? [] : [`${name} has applied what the log has not`];
}

/** Each write is there as it was answered, and the counter has counted each once. */
export function wrongWrites({ name: machine, store }: Machine, writes: readonly Write[]): string[] {
  const faults: string[] = [];
  const given = new Set<number>();
  for (const { name, answer, value } of writes) {
    const stored = store.get(name);
    if (answer === 'done' && stored !== value) {
      faults.push(`${name} was answered ${value}, and is ${stored} on ${machine}`);
    }
    if (stored === undefined) continue;
    if (answer === 'refused' || answer === 'undone') {
      faults.push(`${name} was ${answer}, and is there on ${machine}`);
    }
    if (given.has(stored)) faults.push(`${stored} was given twice on ${machine}`);
    given.add(stored);
  }
  const counter = store.get('counter') ?? 0;
  if (given.size !== counter) faults.push(`${given.size} writes are ${counter} on ${machine}`);
  return faults;
}

/**
 * Where the brokers lost entries: an answered write is on every machine that serves, or only on machines that stopped.
 * @param mayBeGone it may be on no machine at all: the one that had it was lost too
 */
export function lostWrites(
  machines: readonly Machine[],
  writes: readonly Write[],
  mayBeGone: boolean,
): string[] {
  const faults: string[] = [];
  for (const { name, answer, value } of writes) {
    if (answer !== 'done') continue;
    const having = machines.filter(({ store }) => store.get(name) === value);
    const isOnAll = machines.every(
      (machine) => machine.stop !== undefined || having.includes(machine),
    );
    const isOnNone = having.every(({ stop }) => stop !== undefined);
    if (!isOnAll && !isOnNone) faults.push(`${name} is on some machines that serve, not on others`);
    if (having.length === 0 && !mayBeGone) faults.push(`${name} is on no machine`);
  }
  return faults;
}
