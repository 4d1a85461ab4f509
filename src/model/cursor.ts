/**
 * Cursors of lists: whole numbers in decimal, joined by points. Opaque to clients, who send back what they were
 * given; anything else is refused, also the cursors of releases that wrote them in another form.
 */
import { type Failure, invalid } from './failure.ts';

export function formatCursor(...numbers: readonly number[]): string {
  return numbers.join('.');
}

/** @param count of the numbers that this list's cursors have @throws Failure validation_failed */
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
