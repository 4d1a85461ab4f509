/**
 * Logs: one JSON line per entry, written by pino, which escapes line breaks, so that a client cannot forge an entry.
 *
 * Two rules keep secrets out: the service logs ids, codes and durations, never requests; and fields named like a
 * secret, an e-mail or a client address are redacted, up to two levels deep.
 */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

const secretFields = [
  'authorization',
  'apiKey',
  'clientAddress',
  'cookie',
  'email',
  'ip',
  'key',
  'password',
  'passwordHash',
  'peerAddress',
  'remoteAddress',
  'secret',
  'token',
  'x-forwarded-for',
] as const;

const redactPaths = secretFields.flatMap((field) => {
  const step = field.includes('-') ? `["${field}"]` : field;
  const dot = field.includes('-') ? '' : '.';
  return [step, `*${dot}${step}`, `*.*${dot}${step}`];
});

export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service: 'quietzone' },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactPaths, censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, destination);
}
