/**
 * Logs: one JSON line an entry, written by pino; secrets never reach the line.
 *
 * Two guards: the service logs ids, codes and durations, never whole requests; and fields that are named
 * like a secret, an e-mail or a client address are redacted, up to two levels deep.
 * pino escapes line breaks inside values, so a client cannot forge an entry.
 */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** Fields with a secret or about a person. */
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

/**
 * @param destination where lines go; standard output when absent
 */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service: 'quietzone' },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactPaths, censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
