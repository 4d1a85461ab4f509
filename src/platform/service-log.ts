/**
 * The log of the service: JSON lines on standard error, which never block it (log-destination.ts).
 *
 * After `adopt`, other output on standard error (Node's warnings, threads) also becomes log lines; before it, a failed start
 * prints its reason as text. Native libraries bypass it.
 */
import { constants, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { createLog, type Logger, type LogLevel } from './log.ts';
import { LogDestination } from './log-destination.ts';

const flushMsMax = 500;

export interface ServiceLog {
  readonly log: Logger;
  /** Logs what is written to standard error from now on. */
  readonly adopt: () => void;
  /** Waits for a slow reader, at most half a second. Call it before the process ends. */
  readonly flush: () => void;
}

export function openServiceLog(level: LogLevel): ServiceLog {
  const destination = new LogDestination({
    descriptor: descriptorOf(process.stderr),
    onLost: (lines) => log.warn({ lines }, 'log lines lost, standard error was not read'),
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

/** Lost lines since the start; 0 for other logs. */
export function linesLost(log: Logger): number {
  const destination: unknown = Reflect.get(log, pino.symbols.streamSym);
  return destination instanceof LogDestination ? destination.lost : 0;
}

/**
 * A descriptor that does not block. Node's pipes and sockets already do not; a terminal, which Ctrl-S stops, is reopened.
 */
function descriptorOf({ fd }: NodeJS.WriteStream & { readonly fd: number }): number {
  if (!isatty(fd)) return fd;
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // Another system or another user's terminal: Ctrl-S blocks the service.
    return fd;
  }
}
