/**
 * The log of the service: JSON lines on standard error, which never hold it up (log-destination.ts).
 *
 * Whatever else is written there, Node's warnings and the output of threads, becomes a line of the log too, once
 * `adopt` is called: before, a start that fails says why in plain words. Native libraries write past it.
 */
import { constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { createLog, type Logger, type LogLevel } from './log.ts';
import { LogDestination } from './log-destination.ts';

/** The end of the process waits so long for a reader that is slow. */
const flushMsMax = 500;

export interface ServiceLog {
  readonly log: Logger;
  /** What is written to standard error from here on is logged. */
  readonly adopt: () => void;
  /** Before the process ends: waits for a reader that is slow, half a second at most. */
  readonly flush: () => void;
}

export function openServiceLog(level: LogLevel): ServiceLog {
  const destination = new LogDestination({
    descriptor: descriptorOf(process.stderr),
    onLost: (lines) => log.warn({ lines }, 'lines of the log were lost, nobody could read them'),
  });
  const log = createLog(level, destination);
  const flush = (): void => destination.flush(flushMsMax);
  process.once('exit', flush);
  const adopt = (): void => {
    process.stderr.write = (text: string | Uint8Array, ...more: unknown[]): boolean => {
      const output = Buffer.from(text).toString().trimEnd();
      if (output !== '') log.warn({ output }, 'written to standard error');
      const done = more.at(-1);
      if (typeof done === 'function') queueMicrotask(() => void done());
      return true;
    };
  };
  return { log, adopt, flush };
}

/** Lines that nobody could read, since the start; 0 for the log of a test or a command. */
export function linesLost(log: Logger): number {
  const destination: unknown = Reflect.get(log, pino.symbols.streamSym);
  return destination instanceof LogDestination ? destination.lost : 0;
}

/**
 * So that a write does not wait: Node has set that for pipes and sockets, and a terminal, which a person may stop with
 * Ctrl-S, is opened again for it.
 */
function descriptorOf({ fd }: NodeJS.WriteStream & { readonly fd: number }): number {
  if (!isatty(fd)) return fd;
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // Another system, or a terminal of another user: a stop of it stops the service.
    return fd;
  }
}
