import { messageOf } from '../model/failure.ts';

export type Closers = Array<() => unknown>;

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

/** @param open fills the closers; if it throws, what it has opened is closed @returns what it returns, with `close` */
export async function openWithClosers<T extends object>(
  open: (closers: Closers) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const closers: Closers = [];
  const close = (): Promise<void> => closeAll(closers);
  try {
    return { ...(await open(closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}
