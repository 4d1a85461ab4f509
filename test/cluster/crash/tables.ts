/** The tables of a core, what a write does to them, and what they must hold after some writes. */
import type { StoreEnvironment, Table } from '../../../src/store/environment.ts';
import type { Write } from './messages.ts';

const counterKey = 'counter';
/** A large write puts so many records. */
const largeRecords = 3;

export class ThrownError extends Error {
  override readonly name = 'ThrownError';
}

export class Tables {
  readonly #counter: Table<string, number>;
  /** The value of each write, by its name. */
  readonly #values: Table<string, number>;
  readonly #names: Table<string, 1>;
  readonly #shared: Table<string, readonly [name: string, value: number]>;
  readonly #large: Table<string, Uint8Array>;

  constructor(environment: StoreEnvironment) {
    this.#counter = environment.table('counter');
    this.#values = environment.table('values');
    this.#names = environment.set('names');
    this.#shared = environment.table('shared');
    this.#large = environment.table('large', { value: 'binary' });
  }

  get count(): number {
    return this.#counter.get(counterKey) ?? 0;
  }

  /** Inside a transaction. @returns the value that it is answered */
  run({ name, puts, removes, largeBytes, isThrowing }: Write): number {
    const value = this.count + 1;
    this.#counter.put(counterKey, value);
    this.#values.put(name, value);
    this.#names.put(name, 1);
    this.#shared.put(puts, [name, value]);
    this.#shared.remove(removes);
    for (const [key, bytes] of largeOf(value, largeBytes)) this.#large.put(key, bytes);
    if (isThrowing) throw new ThrownError('thrown');
    return value;
  }

  values(): ReadonlyMap<string, number> {
    return mapOf(this.#values.range({}));
  }

  /** What differs from what these writes make, in this order. */
  differences(applied: readonly Write[]): string[] {
    const shared = new Map<string, string>();
    const large = new Map<string, Uint8Array>();
    for (const [at, { name, puts, removes, largeBytes }] of applied.entries()) {
      shared.set(puts, `${name},${at + 1}`);
      shared.delete(removes);
      for (const [key, bytes] of largeOf(at + 1, largeBytes)) large.set(key, bytes);
    }
    const found: string[] = [];
    const storedShared = mapOf(this.#shared.range({}));
    for (const key of new Set([...shared.keys(), ...storedShared.keys()])) {
      const stored = storedShared.get(key)?.join(',');
      if (stored === shared.get(key)) continue;
      found.push(`${key} is ${stored}, expected ${shared.get(key)}`);
    }
    const storedLarge = mapOf(this.#large.range({}));
    for (const key of new Set([...large.keys(), ...storedLarge.keys()])) {
      const [stored, expected] = [storedLarge.get(key), large.get(key)];
      if (stored !== undefined && expected !== undefined && isSame(stored, expected)) continue;
      found.push(`${key} is not what was put last`);
    }
    const names = new Set(this.#names.keys({}));
    const isNamed = applied.every(({ name }) => names.has(name)) && names.size === applied.length;
    if (!isNamed) found.push(`${names.size} names for ${applied.length} writes`);
    return found;
  }
}

/** Records of a large write: bytes that no other write puts. */
function* largeOf(value: number, bytes: number): Generator<[key: string, bytes: Uint8Array]> {
  if (bytes === 0) return;
  for (let no = 0; no < largeRecords; no++) {
    const filled = Buffer.alloc(Math.ceil(bytes / largeRecords), `${value}.${no};`);
    yield [`large ${(value + no) % 8}`, filled];
  }
}

const mapOf = <V>(records: Iterable<{ key: string; value: V }>): Map<string, V> =>
  new Map(Array.from(records, ({ key, value }) => [key, value]));

const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;
