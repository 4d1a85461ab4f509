import { messageOf } from '../model/failure.ts';

export type Closers = Array<() => Promise<void> | void>;

/**
 * Closes all, newest first, even if one throws: on a full disk the first may fail, and the last ones still count scans.
 * @throws the error, or one that names all errors, once everything is closed
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
