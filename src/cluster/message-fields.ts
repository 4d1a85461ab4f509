/** What came from another machine, as fields that are looked at one by one. */
import { unpackPlain } from '../store/codec.ts';

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
