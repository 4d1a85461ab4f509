/** Cursors of lists, opaque to clients: decimal integers joined by points. */
import { type Failure, invalid } from './failure.ts';

export function formatCursor(...numbers: readonly number[]): string {
  return numbers.join('.');
}

/** @param count numbers in a cursor of this list @throws Failure validation_failed */
export function parseCursor(text: string, count: number): number[] {
  const numbers = text.split('.').map(Number);
  const isWhole = numbers.every((number) => Number.isSafeInteger(number) && number >= 0);
  if (numbers.length !== count || !isWhole || formatCursor(...numbers) !== text) {
    throw invalidCursor();
  }
  return numbers;
}

export function invalidCursor(): Failure {
  return invalid('cursor', 'invalid_cursor', 'Expected nextCursor of the page before');
}
