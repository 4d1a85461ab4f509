/** What came from another machine, as fields that are looked at one by one. */
import { packPlain, unpackPlain } from '../store/codec.ts';

/** Of one msgpack array; undefined for any other bytes. */
export function readFields(body: Uint8Array): readonly unknown[] | undefined {
  try {
    const fields = unpackPlain(body);
    return Array.isArray(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

/** A whole number from 0 on. */
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

export const isCountPair = (value: unknown): value is readonly [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every(isCount);

export const isText = (value: unknown): value is string => typeof value === 'string';
export const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';

export type Check<T> = (value: unknown) => value is T;
type Checks<T> = { readonly [Field in keyof Required<T>]: Check<T[Field]> };

export const listOf =
  <T>(is: Check<T>): Check<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.every(is);

export const recordOf =
  <T extends object>(checks: Checks<T>): Check<T> =>
  (value): value is T =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries<Check<unknown>>(checks).every(([name, is]) => is(Reflect.get(value, name)));

const messageVersion = 1;

/**
 * A message is one msgpack array: its version, then its fields in the order of `checks`. While a cluster is upgraded, it has
 * nodes of two versions. So add fields at the end, where an older program ignores them, and let their checks accept
 * `undefined`, which is what a newer program reads in a message of an older one.
 */
export function messageFormat<T extends object>(checks: Checks<T>) {
  const names = Object.keys(checks);
  const isMessage = recordOf(checks);
  return {
    encode: (message: T): Uint8Array =>
      packPlain([messageVersion, ...names.map((name): unknown => Reflect.get(message, name))]),
    /** @returns undefined for bytes that are no such message, or one of another version */
    read: (bytes: Uint8Array): T | undefined => {
      const [version, ...fields] = readFields(bytes) ?? [];
      const message: unknown = Object.fromEntries(names.map((name, at) => [name, fields[at]]));
      return version === messageVersion && isMessage(message) ? message : undefined;
    },
  };
}
