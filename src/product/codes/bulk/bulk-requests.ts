/**
 * Creates many codes for one request, in small transactions. A repeated request creates each code once.
 *
 *   rows 0–49    one transaction: codes, their events, the answer's lines, "50 rows are done"
 *   rows 50–99   one transaction …                    other requests are handled in between
 *
 * Under an Idempotency-Key the lines of the answer commit with the codes that they describe. A request that was cut off
 * (kill -9, full disk) continues after its stored lines when it is sent again. A request without a key stores no lines.
 *
 * Batches are small because a transaction holds the thread: 50 rows take about 8 ms. For a day, stored lines take about
 * 700 bytes a row, as much as the codes themselves.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../../model/clock.ts';
import { Failure } from '../../../model/failure.ts';
import type { Actor } from '../../../model/workspace.ts';
import type { Range } from '../../../store/environment.ts';
import type { Management } from '../../../store/management/management.ts';
import type { CodeDraft, CreateOutcome } from '../code-creation.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';

/** Rows a transaction; see above. */
const batchRows = 50;
/** A day, as long as the answer itself is stored, plus the time of the longest request. */
const retentionMs = 25 * 3_600_000;
/** Requests whose lines are removed at a time: a few thousand keys at most. */
const expiredMax = 10;

export interface Creator {
  createMany(
    actor: Actor,
    drafts: ReadonlyArray<CodeDraft | Failure>,
    hooks?: BatchHooks,
  ): Promise<CreateOutcome[]>;
}

/** Both run inside the transaction of a batch. */
export interface BatchHooks {
  /** May throw; then the batch writes nothing. */
  readonly beforeWrites?: () => void;
  /** @param outcomes in the order of the drafts. Must not throw. */
  readonly afterWrites?: (outcomes: readonly CreateOutcome[]) => void;
}

export interface BulkRequest {
  readonly rows: number;
  /** A row as a draft, or its failure. */
  readonly draftOf: (index: number) => CodeDraft | Failure;
  /** A row's line of the answer. */
  readonly lineOf: (index: number, outcome: CreateOutcome) => string;
  /** Names the sender and its Idempotency-Key; undefined = no lines are stored. */
  readonly idempotency: { readonly name: string; readonly fingerprint: string } | undefined;
}

export interface BulkResult {
  /** One for each row, in order. */
  readonly lines: readonly string[];
  readonly created: number;
  readonly failed: number;
  /** The store was full, so the last rows were not tried: the same request continues there. */
  readonly isCut: boolean;
}

export class BulkRequests {
  readonly #store: Management;
  readonly #clock: Clock;
  readonly #creator: Creator;

  constructor(store: Management, clock: Clock, creator: Creator) {
    this.#store = store;
    this.#clock = clock;
    this.#creator = creator;
  }

  /**
   * Creates the codes that the request has not created yet.
   * @throws Failure idempotency_conflict for another body under the key; storage_full if not even the first rows fit:
   *   then no code is created
   */
  async run(actor: Actor, request: BulkRequest): Promise<BulkResult> {
    const { rows, idempotency, lineOf } = request;
    const stored = idempotency && this.#find(actor.workspaceNo, idempotency.name);
    if (stored !== undefined && stored.fingerprint !== idempotency?.fingerprint) {
      const detail = 'This Idempotency-Key was used with another request within 24 hours';
      throw new Failure('idempotency_conflict', detail);
    }
    const lines =
      stored === undefined ? [] : await this.#linesOf(actor.workspaceNo, idempotency?.name ?? '');
    let created = stored?.created ?? 0;
    const result = (isCut: boolean): BulkResult => ({
      lines,
      created,
      failed: rows - created,
      isCut,
    });
    while (lines.length < rows) {
      try {
        created += await this.#batch(actor, request, lines, created);
      } catch (error) {
        if (!(error instanceof Failure) || lines.length === 0) throw error;
        while (lines.length < rows) lines.push(lineOf(lines.length, error));
        return result(true);
      }
      await yieldToEventLoop();
    }
    return result(false);
  }

  /** Removes the lines of some expired requests. Every 30 s. */
  async expire(): Promise<void> {
    const { expiry } = this.#store.bulk;
    await expiry.expire(this.#clock.now(), expiredMax, (...key) => this.#delete(...key));
  }

  #find(workspaceNo: WorkspaceNo, name: string) {
    const { requests, expiry } = this.#store.bulk;
    const isOver = (expiry.at(workspaceNo, name) ?? 0) <= this.#clock.now();
    return isOver ? undefined : requests.get([workspaceNo, name]);
  }

  /** In order. */
  async #linesOf(workspaceNo: WorkspaceNo, name: string): Promise<string[]> {
    const lines: string[] = [];
    for (const { value } of this.#store.bulk.answers.range(answersOf(workspaceNo, name))) {
      lines.push(...value.split('\n'));
      await yieldToEventLoop();
    }
    return lines;
  }

  /** Creates the next rows and appends their lines once they are committed. @returns codes created */
  async #batch(
    actor: Actor,
    request: BulkRequest,
    lines: string[],
    createdBefore: number,
  ): Promise<number> {
    const first = lines.length;
    const count = Math.min(batchRows, request.rows - first);
    const drafts = Array.from({ length: count }, (_, at) => request.draftOf(first + at));
    let batch: readonly string[] = [];
    const outcomes = await this.#creator.createMany(actor, drafts, {
      afterWrites: (made) => {
        batch = made.map((outcome, at) => request.lineOf(first + at, outcome));
        this.#write(actor.workspaceNo, request, first, batch, createdBefore + createdIn(made));
      },
    });
    lines.push(...batch);
    return createdIn(outcomes);
  }

  /** Inside the transaction of the batch. @param created by the request so far */
  #write(
    workspaceNo: WorkspaceNo,
    { idempotency }: BulkRequest,
    first: number,
    lines: readonly string[],
    created: number,
  ): void {
    if (idempotency === undefined) return;
    const { name, fingerprint } = idempotency;
    const { requests, answers, expiry } = this.#store.bulk;
    if (first === 0) {
      this.#delete(workspaceNo, name);
      expiry.set([workspaceNo, name], this.#clock.now() + retentionMs);
    }
    requests.put([workspaceNo, name], { fingerprint, created });
    answers.put([workspaceNo, name, first], lines.join('\n'));
  }

  #delete(workspaceNo: WorkspaceNo, name: string): void {
    const { requests, answers } = this.#store.bulk;
    const old = [...answers.keys(answersOf(workspaceNo, name))];
    for (const answer of old) answers.remove(answer);
    requests.remove([workspaceNo, name]);
  }
}

const createdIn = (outcomes: readonly CreateOutcome[]): number =>
  outcomes.filter((outcome) => !(outcome instanceof Failure)).length;

/** Keys of a request's stored lines. */
function answersOf(workspaceNo: WorkspaceNo, name: string): Range<[number, string, number]> {
  return { start: [workspaceNo, name, 0], end: [workspaceNo, name, Infinity] };
}
