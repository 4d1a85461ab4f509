/** What is open, oldest first. */
import { messageOf } from '../model/failure.ts';

export type Closers = Array<() => Promise<void> | void>;

/**
 * Closes all, newest first, whatever one of them throws: on a full disk the first may fail, and the scans that are
 * still to be counted are the last one's.
 * @throws the error, or one that names them all, once everything is closed
 */
export async function closeAll(closers: Closers): Promise<void> {
  const errors: unknown[] = [];
  for (const closer of closers.splice(0).toReversed()) {
    try {
      await closer();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  const texts = errors.map(messageOf);
  if (errors.length > 1) throw new AggregateError(errors, texts.join('; '));
}
