/** Attempts as lists of values, for stores and threads: structured clone takes 0.5 µs for a list, 1.7 µs for an object. */
import type { AttemptRecord, FailureClass } from './webhook.ts';

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
