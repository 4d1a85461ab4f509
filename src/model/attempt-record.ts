/**
 * Attempts as lists of values, for the delivery store, the result journal and messages between threads: field names cost
 * more than the values (structured clone: 1.7 µs as an object, 0.5 µs as a list).
 */
import type { AttemptRecord, FailureClass } from './webhook.ts';

/** Null = absent. */
export type PackedAttempt = readonly [
  atMs: number,
  durationMs: number,
  remoteIp: string | null,
  status: number | null,
  failure: FailureClass | null,
  answer: string | null,
  retryAfterMs: number | null,
];

export function packAttempt(attempt: AttemptRecord): PackedAttempt {
  return [
    attempt.atMs,
    attempt.durationMs,
    attempt.remoteIp ?? null,
    attempt.status ?? null,
    attempt.failure ?? null,
    attempt.answer ?? null,
    attempt.retryAfterMs ?? null,
  ];
}

export function unpackAttempt(packed: PackedAttempt): AttemptRecord {
  const [atMs, durationMs, remoteIp, status, failure, answer, retryAfterMs] = packed;
  return {
    atMs,
    durationMs,
    ...(remoteIp === null ? {} : { remoteIp }),
    ...(status === null ? {} : { status }),
    ...(failure === null ? {} : { failure }),
    ...(answer === null ? {} : { answer }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
}
