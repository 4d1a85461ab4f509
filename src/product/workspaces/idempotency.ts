/**
 * Idempotency keys: the first answer to a POST is stored for 24 hours and sent again.
 *
 * The answer is written in the transaction of its effect (`ticket.keep`), so a crash leaves both or neither: a
 * repeated request has no second effect. Requests with the same key wait while the first one runs.
 *
 * An answer belongs to its sender, a signed-in user or an API key, because it may contain a secret: the same key and body
 * from another sender is another request. Only final answers are stored: success, and refusals
 * of the request itself. A temporary refusal (no permission, too many requests, no space) had no effect, and the
 * next try may succeed.
 *
 *   name in the store    "usr_… <key>" or "key_… <key>"; without a sender, api.ts makes one of the address
 *
 * The store has a keyed digest of the request: a body may contain a password, which a plain fast hash would not
 * protect against guessing.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import { Failure, invalid } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Management, StoredAnswer } from '../../store/management/management.ts';
import type { SecretCipher } from './secret-cipher.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

const answerRetentionMs = dayMs;
/** Printable ASCII without spaces, at most this long: it is part of an LMDB key. */
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;
/** Answers that one run of `expire` removes: a few ms of the writer's time. */
const expireBatchMax = 1_000;
/** Refusals that are about the request itself; see above. */
const finalRefusals: ReadonlySet<number> = new Set([404, 409, 410, 422]);

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

/** A request under its key. */
export interface IdempotentRequest {
  readonly workspaceNo: WorkspaceNo;
  /** Of the sender and the key; `answerName`. */
  readonly name: string;
  readonly fingerprint: string;
}

/** Under which name a sender's answer is kept. @throws Failure validation_failed */
export function answerName({ userId, keyId = userId }: Actor, key: string): string {
  assertIdempotencyKey(key);
  return `${keyId} ${key}`;
}

/** Whether the same request would meet the same answer again. */
export function isFinal(status: number): boolean {
  return status < 300 || finalRefusals.has(status);
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
   * Runs `work` once per workspace, sender and key; later calls get its answer.
   * @throws Failure idempotency_conflict for another fingerprint under the key, and what `work` throws
   */
  async run(
    request: IdempotentRequest,
    work: (ticket: IdempotencyTicket) => Promise<KeptAnswer>,
  ): Promise<IdempotentAnswer> {
    const { workspaceNo, name, fingerprint } = request;
    const runningName = `${workspaceNo}:${name}`;
    for (;;) {
      const running = this.#running.get(runningName);
      const known = running ?? this.#find(request);
      if (known === undefined) break;
      if (known.fingerprint !== fingerprint) throw conflict();
      const answer = 'done' in known ? await known.done : answerOf(known);
      if (answer !== undefined) return { answer, replayed: true };
    }
    const { promise, resolve } = Promise.withResolvers<KeptAnswer | undefined>();
    this.#running.set(runningName, { fingerprint, done: promise });
    let final: KeptAnswer | undefined;
    try {
      const answer = await this.#first(request, work);
      if (isFinal(answer.status)) final = answer;
      return { answer, replayed: false };
    } finally {
      this.#running.delete(runningName);
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
        const [expiresAtMs, workspaceNo, name] = entry;
        idempotencyExpiry.remove(entry);
        // Another request may use the name by now.
        if (idempotency.get([workspaceNo, name])?.expiresAtMs === expiresAtMs) {
          idempotency.remove([workspaceNo, name]);
        }
      }
      return over.length;
    });
  }

  async #first(
    { workspaceNo, name, fingerprint }: IdempotentRequest,
    work: (ticket: IdempotencyTicket) => Promise<KeptAnswer>,
  ): Promise<KeptAnswer> {
    let kept = false;
    const keep = ({ status, headers, body }: KeptAnswer): void => {
      kept = true;
      const expiresAtMs = this.#clock.now() + answerRetentionMs;
      const encrypted = this.#cipher.encrypt(body);
      const stored: StoredAnswer = {
        fingerprint: this.#cipher.digest(fingerprint),
        expiresAtMs,
        status,
        headers,
        body: encrypted,
      };
      this.#store.idempotency.put([workspaceNo, name], stored);
      this.#store.idempotencyExpiry.put([expiresAtMs, workspaceNo, name], 1);
    };
    const answer = await work({ keep });
    if (!kept && isFinal(answer.status)) {
      await this.#store.environment.transaction(() => keep(answer));
    }
    return answer;
  }

  /** The stored answer, if the request has the same fingerprint. */
  #find({ workspaceNo, name, fingerprint }: IdempotentRequest): StoredAnswer | undefined {
    const stored = this.#store.idempotency.get([workspaceNo, name]);
    if (stored === undefined || stored.expiresAtMs <= this.#clock.now()) return undefined;
    const body = this.#cipher.decrypt(stored.body);
    if (body === undefined) return undefined;
    const isSame = stored.fingerprint === this.#cipher.digest(fingerprint);
    return { ...stored, body, ...(isSame ? { fingerprint } : {}) };
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

function answerOf({ status, headers, body }: StoredAnswer): KeptAnswer {
  return { status, headers, body };
}

function conflict(): Failure {
  return new Failure(
    'idempotency_conflict',
    'This Idempotency-Key was used with another request within 24 hours',
  );
}
