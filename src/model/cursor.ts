/**
 * Cursors of lists: whole numbers in decimal, joined by points. Opaque to clients, who send back what they were
 * given; anything else is refused, also the cursors of releases that wrote them in another form.
 */
import { Failure } from './failure.ts';

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
  const message = 'Expected nextCursor of the page before';
  const faults = [{ path: 'cursor', code: 'invalid_cursor', message }];
  return new Failure('validation_failed', message, { faults });
}
