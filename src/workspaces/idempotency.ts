/**
 * Idempotency keys: the first answer to a POST is kept for 24 hours and given again.
 *
 * The answer is written in the transaction of its effect (`ticket.keep`), so a crash leaves both or
 * neither: a repeated request never makes a second thing. Requests with the same key that come while
 * the first still works wait for it. Only final answers (below 500) are kept.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../model/clock.ts';
import { dayMs } from '../model/day.ts';
import { Failure, invalid } from '../model/failure.ts';
import type { Management, StoredAnswer } from '../store/management/management.ts';
import type { SecretCipher } from './secret-cipher.ts';
import type { WorkspaceNo } from '../model/numbers.ts';

const answerRetentionMs = dayMs;
/** Printable ASCII, at most this long: it is part of an LMDB key. */
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;
/** Answers that one run of `expire` removes: a few ms of the writer's time. */
const expireBatchMax = 1_000;

export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface IdempotencyTicket {
  /** Keeps the answer. Inside the management transaction of the effect. */
  keep(answer: KeptAnswer): void;
}

export interface IdempotentAnswer {
  readonly answer: KeptAnswer;
  readonly replayed: boolean;
}

interface Running {
  readonly fingerprint: string;
  /** Resolves to the answer when it is final, to undefined when another try is needed. */
  readonly done: Promise<KeptAnswer | undefined>;
}

/** Identifies a request under its key: the same key with another one is a conflict. */
export function requestFingerprint(method: string, path: string, body: Uint8Array): string {
  return createHash('sha256').update(`${method} ${path}\n`).update(body).digest('base64url');
}

export class Idempotency {
  readonly #store: Management;
  readonly #clock: Clock;
  readonly #cipher: SecretCipher;
  readonly #running = new Map<string, Running>();

  constructor(store: Management, clock: Clock, cipher: SecretCipher) {
    this.#store = store;
    this.#clock = clock;
    this.#cipher = cipher;
  }

  /**
   * Does `work` once per workspace and key; later calls get its answer.
   * @throws Failure idempotency_conflict for another fingerprint under the key, and what `work` throws
   */
  async run(
    workspaceNo: WorkspaceNo,
    key: string,
    fingerprint: string,
    work: (ticket: IdempotencyTicket) => Promise<KeptAnswer>,
  ): Promise<IdempotentAnswer> {
    assertIdempotencyKey(key);
    const name = `${workspaceNo}:${key}`;
    for (;;) {
      const running = this.#running.get(name);
      const known = running ?? this.#find(workspaceNo, key);
      if (known === undefined) break;
      if (known.fingerprint !== fingerprint) throw conflict();
      const answer = 'done' in known ? await known.done : answerOf(known);
      if (answer !== undefined) return { answer, replayed: true };
    }
    const { promise, resolve } = Promise.withResolvers<KeptAnswer | undefined>();
    this.#running.set(name, { fingerprint, done: promise });
    let final: KeptAnswer | undefined;
    try {
      const answer = await this.#first(workspaceNo, key, fingerprint, work);
      if (isFinal(answer)) final = answer;
      return { answer, replayed: false };
    } finally {
      this.#running.delete(name);
      resolve(final);
    }
  }

  /** Removes answers older than 24 h, at most one batch. @returns how many */
  async expire(batch = expireBatchMax): Promise<number> {
    const { environment, idempotency, idempotencyExpiry } = this.#store;
    return await environment.transaction(() => {
      const over = [
        ...idempotencyExpiry.keys({
          start: [0, 0, ''],
          end: [this.#clock.now(), 0, ''],
          limit: batch,
        }),
      ];
      for (const entry of over) {
        const [expiresAtMs, workspaceNo, key] = entry;
        idempotencyExpiry.remove(entry);
        // The key may be in use again since.
        if (idempotency.get([workspaceNo, key])?.expiresAtMs === expiresAtMs) {
          idempotency.remove([workspaceNo, key]);
        }
      }
      return over.length;
    });
  }

  async #first(
    workspaceNo: WorkspaceNo,
    key: string,
    fingerprint: string,
    work: (ticket: IdempotencyTicket) => Promise<KeptAnswer>,
  ): Promise<KeptAnswer> {
    let kept = false;
    const keep = ({ status, headers, body }: KeptAnswer): void => {
      kept = true;
      const expiresAtMs = this.#clock.now() + answerRetentionMs;
      const encrypted = this.#cipher.encrypt(body);
      const stored: StoredAnswer = { fingerprint, expiresAtMs, status, headers, body: encrypted };
      this.#store.idempotency.put([workspaceNo, key], stored);
      this.#store.idempotencyExpiry.put([expiresAtMs, workspaceNo, key], 1);
    };
    const answer = await work({ keep });
    if (!kept && isFinal(answer)) {
      await this.#store.environment.transaction(() => keep(answer));
    }
    return answer;
  }

  #find(workspaceNo: WorkspaceNo, key: string): StoredAnswer | undefined {
    const stored = this.#store.idempotency.get([workspaceNo, key]);
    if (stored === undefined || stored.expiresAtMs <= this.#clock.now()) return undefined;
    const body = this.#cipher.decrypt(stored.body);
    return body === undefined ? undefined : { ...stored, body };
  }
}

/** @throws Failure validation_failed */
export function assertIdempotencyKey(key: string): void {
  if (idempotencyKeyPattern.test(key)) return;
  throw invalid(
    'Idempotency-Key',
    'invalid_key',
    'Idempotency-Key: 1 to 255 printable ASCII characters without spaces',
  );
}

function isFinal(answer: KeptAnswer): boolean {
  return answer.status < 500;
}

function answerOf({ status, headers, body }: StoredAnswer): KeptAnswer {
  return { status, headers, body };
}

function conflict(): Failure {
  return new Failure(
    'idempotency_conflict',
    'This Idempotency-Key was used with another request within 24 hours',
  );
}
