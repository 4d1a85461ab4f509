/** A named pipe, opened so that nothing waits: what the log's reader is in tests. */
import { constants, openSync, readSync } from 'node:fs';

export const openReader = (pipe: string): number =>
  openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
export const openWriter = (pipe: string): number =>
  openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);

/** What is in the pipe now. */
export function readAll(reader: number): string {
  const buffer = Buffer.alloc(1_048_576);
  let text = '';
  try {
    for (;;) {
      const bytes = readSync(reader, buffer);
      if (bytes === 0) return text;
      text += buffer.toString('utf8', 0, bytes);
    }
  } catch {
    return text;
  }
}
