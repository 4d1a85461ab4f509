/**
 * Many codes by one request: created in small transactions, and once however often the request is sent.
 *
 *   rows 0–49    one transaction: codes, their events, the answer's lines, "50 rows are done"
 *   rows 50–99   one transaction …                    other requests are handled in between
 *
 * Under an Idempotency-Key the lines of the answer commit with the codes they describe. A request that
 * was cut off (kill -9, full disk) and comes again answers with the lines it finds and goes on after them:
 * the same codes, none twice. Without a key nothing is kept.
 *
 * Batches are small because a transaction holds the thread: 50 rows are about 8 ms. Kept lines are
 * some 700 bytes a row for a day, about what the codes themselves take.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { BulkRequestRecord } from '../../store/management/product-tables.ts';
import type { Range } from '../../store/environment.ts';
import type { Management } from '../../store/management/management.ts';
import type { CodeDraft, CreateOutcome } from '../code-creation.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Rows a transaction; see above. */
const batchRows = 50;
/** Longer than the day that the answer itself is kept, by what the longest request takes. */
const keptMs = 25 * 3_600_000;
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
  /** May throw: nothing is written then. */
  readonly beforeWrites?: () => void;
  /** @param outcomes in the order of the drafts. Must not throw. */
  readonly afterWrites?: (outcomes: readonly CreateOutcome[]) => void;
}

export interface BulkRequest {
  readonly rows: number;
  /** A row as a draft, or what is wrong with it already. */
  readonly draftOf: (index: number) => CodeDraft | Failure;
  /** A row's line of the answer. */
  readonly lineOf: (index: number, outcome: CreateOutcome) => string;
  /** Takes the lines of rows that are committed, in order. */
  readonly onLines: (lines: readonly string[]) => void;
  /** Under which name of sender and Idempotency-Key the lines are kept; undefined = nothing is. */
  readonly idempotency: { readonly name: string; readonly fingerprint: string } | undefined;
}

export interface BulkSummary {
  readonly created: number;
  readonly failed: number;
  /** The last rows were not tried, because the store was full: the same request again goes on there. */
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
   * @throws Failure idempotency_conflict for another body under the key; storage_full when already the first
   *   rows do not fit: nothing is created then
   */
  async run(actor: Actor, request: BulkRequest): Promise<BulkSummary> {
    const kept = this.#kept(actor, request);
    let created = kept?.created ?? 0;
    if (kept !== undefined) await this.#repeatKept(actor, request);
    for (let first = kept?.rows ?? 0; first < request.rows; first += batchRows) {
      let batch: Batch;
      try {
        batch = await this.#batch(actor, request, first, created);
      } catch (error) {
        if (!(error instanceof Failure) || first === 0) throw error;
        await failRest(request, first, error);
        return { created, failed: request.rows - created, isCut: true };
      }
      created += batch.created;
      request.onLines(batch.lines);
      await yieldToEventLoop();
    }
    return { created, failed: request.rows - created, isCut: false };
  }

  /** The lines kept under a name, in order. */
  *linesOf(workspaceNo: WorkspaceNo, name: string): Generator<readonly string[]> {
    for (const { value } of this.#store.bulk.answers.range(answersOf(workspaceNo, name))) {
      yield value.split('\n');
    }
  }

  /** Removes the kept lines of some requests whose time is over. Every 30 s. */
  async expire(): Promise<void> {
    const { environment, bulk } = this.#store;
    await environment.transaction(() => {
      const end: [number, number, string] = [this.#clock.now(), 0, ''];
      const expired = [...bulk.expiry.keys({ start: [0, 0, ''], end, limit: expiredMax })];
      for (const [expiresAtMs, workspaceNo, name] of expired) {
        bulk.expiry.remove([expiresAtMs, workspaceNo, name]);
        // The name may be in use again since.
        if (bulk.requests.get([workspaceNo, name])?.expiresAtMs !== expiresAtMs) continue;
        this.#delete(workspaceNo, name);
      }
    });
  }

  #kept({ workspaceNo }: Actor, request: BulkRequest): BulkRequestRecord | undefined {
    if (request.idempotency === undefined) return undefined;
    const { name, fingerprint } = request.idempotency;
    const kept = this.#find(workspaceNo, name);
    if (kept === undefined || kept.fingerprint === fingerprint) return kept;
    const detail = 'This Idempotency-Key was used with another request within 24 hours';
    throw new Failure('idempotency_conflict', detail);
  }

  #find(workspaceNo: WorkspaceNo, name: string): BulkRequestRecord | undefined {
    const kept = this.#store.bulk.requests.get([workspaceNo, name]);
    return kept === undefined || kept.expiresAtMs <= this.#clock.now() ? undefined : kept;
  }

  async #repeatKept({ workspaceNo }: Actor, request: BulkRequest): Promise<void> {
    const name = request.idempotency?.name ?? '';
    for (const lines of this.linesOf(workspaceNo, name)) {
      request.onLines(lines);
      await yieldToEventLoop();
    }
  }

  async #batch(
    actor: Actor,
    request: BulkRequest,
    first: number,
    createdBefore: number,
  ): Promise<Batch> {
    const drafts: Array<CodeDraft | Failure> = [];
    const end = Math.min(first + batchRows, request.rows);
    for (let index = first; index < end; index += 1) drafts.push(request.draftOf(index));
    let batch: Batch = { lines: [], created: 0 };
    await this.#creator.createMany(actor, drafts, {
      afterWrites: (outcomes) => {
        batch = {
          lines: outcomes.map((outcome, at) => request.lineOf(first + at, outcome)),
          created: outcomes.filter((outcome) => !(outcome instanceof Failure)).length,
        };
        this.#keep(actor.workspaceNo, request, first, createdBefore, batch);
      },
    });
    return batch;
  }

  /** Inside the transaction of the batch. */
  #keep(
    workspaceNo: WorkspaceNo,
    { idempotency }: BulkRequest,
    first: number,
    createdBefore: number,
    batch: Batch,
  ): void {
    if (idempotency === undefined) return;
    const { name, fingerprint } = idempotency;
    const { requests, answers, expiry } = this.#store.bulk;
    if (first === 0) this.#delete(workspaceNo, name);
    const expiresAtMs =
      requests.get([workspaceNo, name])?.expiresAtMs ?? this.#clock.now() + keptMs;
    requests.put([workspaceNo, name], {
      fingerprint,
      rows: first + batch.lines.length,
      created: createdBefore + batch.created,
      expiresAtMs,
    });
    answers.put([workspaceNo, name, first], batch.lines.join('\n'));
    if (first === 0) expiry.put([expiresAtMs, workspaceNo, name], 1);
  }

  #delete(workspaceNo: WorkspaceNo, name: string): void {
    const { requests, answers } = this.#store.bulk;
    const old = [...answers.keys(answersOf(workspaceNo, name))];
    for (const answer of old) answers.remove(answer);
    requests.remove([workspaceNo, name]);
  }
}

/** The table's keys of a request's kept lines. */
function answersOf(workspaceNo: WorkspaceNo, name: string): Range<[number, string, number]> {
  return { start: [workspaceNo, name, 0], end: [workspaceNo, name, Infinity] };
}

interface Batch {
  readonly lines: readonly string[];
  readonly created: number;
}

/** The rows from `first` on were not tried. */
async function failRest(request: BulkRequest, first: number, failure: Failure): Promise<void> {
  for (let at = first; at < request.rows; at += batchRows) {
    const end = Math.min(at + batchRows, request.rows);
    const lines: string[] = [];
    for (let index = at; index < end; index += 1) lines.push(request.lineOf(index, failure));
    request.onLines(lines);
    await yieldToEventLoop();
  }
}
