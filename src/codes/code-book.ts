/**
 * The code book: QR codes are created, changed and deleted here.
 *
 *   check the fields -> one transaction: record, indexes, short code, link block, event, kept answer
 *                    -> commit -> wake the link table -> the promise resolves
 *
 * So when the API answers, the change is durable, its event is in the outbox, and no redirect thread
 * serves the old target. Writers of one code may finish in any order: waking reads the newest
 * committed link instead of carrying its own, so the table never ends with an older target.
 *
 * Every transaction checks before its first write: lmdb does not undo a batch member that throws.
 * The scans left of a limited code go on counting in the link table; only a changed limit is worked
 * out anew from the counted scans, which run behind by one window (about 120 ms).
 */
import type { Clock } from '../model/clock.ts';
import type { CodeType, QrCodeRecord } from '../model/code.ts';
import { foldShortCode, generateShortCode } from '../model/code.ts';
import { dayMs } from '../model/day.ts';
import { Failure, type Fault } from '../model/failure.ts';
import { parseId, type IdSource, type RandomBytes } from '../model/ids.ts';
import type { Actor } from '../model/workspace.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { packCode, unpackCode } from '../store/code-codec.ts';
import type { Management } from '../store/management.ts';
import {
  cleared,
  compact,
  differenceOf,
  editableOf,
  patched,
  type CodeChange,
  type CodeReplacement,
  type Difference,
  type Editable,
} from './code-change.ts';
import { CodeListing, type CodePage, type CodePageRequest } from './listing.ts';
import { LinkBook } from './link-book.ts';
import type { LinkTable } from './link-table.ts';
import { contentFaults } from './rules.ts';
import { isFaults, validateTarget } from './targets.ts';
import { moveTerms } from './terms.ts';

/** Analytics of a deleted code answer this long (specification, section 3). */
const deletedRetentionMs = 90 * dayMs;
/**
 * Tries for a free generated code. At a billion codes of 2^40 a try fails with 0.1 %: sixteen in a
 * row never happen, so running out means that the randomness is broken.
 */
const shortCodeTriesMax = 16;

/** A new code. Absent = default. */
export interface CodeDraft {
  /** Default `url`. */
  readonly type?: CodeType | undefined;
  readonly target: string;
  /** Default true for `url`, false for the types that are always static. */
  readonly dynamic?: boolean | undefined;
  readonly name?: string | undefined;
  readonly slug?: string | undefined;
  readonly campaignId?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly scanLimit?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly externalId?: string | undefined;
}

/** Runs inside the change's transaction, after its writes; must not throw. Idempotency keeps the answer here. */
export type Alongside = (code: QrCodeRecord) => void;

export interface CodeBookParts {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly links: LinkTable;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Public address of short links, without a trailing slash. */
  readonly shortUrlBase: string;
  /** Scans of a code that are counted so far. */
  readonly scansOf: (codeNo: number) => number;
}

export class CodeBook {
  readonly #parts: CodeBookParts;
  readonly #listing: CodeListing;
  readonly #ownHosts: readonly string[];
  /** Start-up reading of all links, and their way into the link table. */
  readonly links: LinkBook;

  constructor(parts: CodeBookParts) {
    this.#parts = parts;
    this.#listing = new CodeListing(parts.store);
    this.#ownHosts = [new URL(parts.shortUrlBase).host];
    this.links = new LinkBook(parts.store, parts.links, parts.scansOf);
  }

  /** @throws Failure validation_failed with every fault, slug_taken, storage_full */
  async create(actor: Actor, draft: CodeDraft, alongside?: Alongside): Promise<QrCodeRecord> {
    const type = draft.type ?? 'url';
    const content = {
      type,
      dynamic: draft.dynamic ?? type === 'url',
      slug: draft.slug,
      externalId: draft.externalId,
      ...editableOf(draft),
    };
    const checked = validateTarget(type, draft.target, this.#ownHosts);
    const faults = [...(isFaults(checked) ? checked : []), ...contentFaults(compact(content))];
    if (isFaults(checked) || faults.length > 0) throw invalid(faults);
    const { slug, ...fields } = { ...content, target: checked.target };
    const { store, ids, clock, outbox } = this.#parts;
    const code = await store.environment.transaction(() => {
      const shortCode = content.dynamic ? this.#freeShortCode(slug) : undefined;
      const nowMs = clock.now();
      const created: QrCodeRecord = compact({
        ...fields,
        shortCode,
        id: ids.newId('qr'),
        no: store.next('code'),
        workspaceId: actor.workspaceId,
        workspaceNo: actor.workspaceNo,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
        createdBy: actor.userId,
      });
      store.codes.put(created.no, packCode(created));
      store.codeIds.put(created.id, created.no);
      if (shortCode !== undefined) store.shortCodes.put(foldShortCode(shortCode), created.no);
      moveTerms(store, undefined, created);
      this.links.write(created);
      const { id, target, dynamic } = created;
      const shortUrl = this.shortUrl(created);
      const createdBy = actor.userId;
      const data = { id, type, target, dynamic, ...(shortUrl ? { shortUrl } : {}), createdBy };
      outbox.append('qr.created', actor.workspaceNo, data, nowMs);
      alongside?.(created);
      return created;
    });
    this.links.wake(code);
    return code;
  }

  /** The live code of this id in the workspace; undefined also when it is another workspace's. */
  find(workspaceNo: number, id: string): QrCodeRecord | undefined {
    const code = this.findKept(workspaceNo, id);
    return code?.deletedAtMs === undefined ? code : undefined;
  }

  /** The same, and a deleted code while its analytics are kept. */
  findKept(workspaceNo: number, id: string): QrCodeRecord | undefined {
    const code = this.findAnywhere(id);
    return code?.workspaceNo === workspaceNo ? code : undefined;
  }

  /** The code of this id in any workspace, live or deleted less than 90 days ago. */
  findAnywhere(id: string): QrCodeRecord | undefined {
    if (parseId('qr', id) === undefined) return undefined;
    const no = this.#parts.store.codeIds.get(id);
    return no === undefined ? undefined : this.findByNo(no);
  }

  findByNo(no: number): QrCodeRecord | undefined {
    const packed = this.#parts.store.codes.get(no);
    if (packed === undefined) return undefined;
    const code = unpackCode(no, packed);
    const keptUntilMs = (code.deletedAtMs ?? Infinity) + deletedRetentionMs;
    return this.#parts.clock.now() < keptUntilMs ? code : undefined;
  }

  /** @throws Failure not_found, static_code, validation_failed, storage_full */
  async change(
    actor: Actor,
    id: string,
    change: CodeChange,
    alongside?: Alongside,
  ): Promise<QrCodeRecord> {
    const build = (current: QrCodeRecord): Editable => editableOf(patched(current, change));
    return await this.#edit(actor, id, change.target, build, alongside);
  }

  /** @throws Failure not_found, static_code, validation_failed, storage_full */
  async replace(
    actor: Actor,
    id: string,
    replacement: CodeReplacement,
    alongside?: Alongside,
  ): Promise<QrCodeRecord> {
    const build = (): Editable => editableOf(replacement);
    return await this.#edit(actor, id, replacement.target, build, alongside);
  }

  /** @returns the deleted record @throws Failure not_found, storage_full */
  async delete(actor: Actor, id: string, alongside?: Alongside): Promise<QrCodeRecord> {
    const { store, clock, outbox } = this.#parts;
    const code = await store.environment.transaction(() => {
      const current = this.#mustFind(actor, id);
      const nowMs = clock.now();
      const deleted: QrCodeRecord = { ...current, deletedAtMs: nowMs };
      store.codes.put(current.no, packCode(deleted));
      store.deletedCodes.put([nowMs, current.no], 1);
      moveTerms(store, current, undefined);
      this.links.write(deleted);
      outbox.append('qr.deleted', actor.workspaceNo, { id, deletedBy: actor.userId }, nowMs);
      alongside?.(deleted);
      return deleted;
    });
    this.links.wake(code);
    return code;
  }

  /** One page, newest first. @throws Failure validation_failed for a cursor that is none of ours */
  async list(workspaceNo: number, request: CodePageRequest): Promise<CodePage> {
    return await this.#listing.page(workspaceNo, request);
  }

  /** What a dynamic code's symbol leads to. */
  shortUrl(code: QrCodeRecord): string | undefined {
    return code.shortCode === undefined
      ? undefined
      : `${this.#parts.shortUrlBase}/${code.shortCode}`;
  }

  async #edit(
    actor: Actor,
    id: string,
    target: string | undefined,
    build: (current: QrCodeRecord) => Editable,
    alongside: Alongside | undefined,
  ): Promise<QrCodeRecord> {
    const { store, clock } = this.#parts;
    // The type never changes, so the target is checked before the writer's lock is taken.
    const { type } = this.#mustFind(actor, id);
    const checked = target === undefined ? undefined : validateTarget(type, target, this.#ownHosts);
    const { code, changed } = await store.environment.transaction(() => {
      const current = this.#mustFind(actor, id);
      const built = build(current);
      const faults = [
        ...(checked !== undefined && isFaults(checked) ? checked : []),
        ...contentFaults(compact({ ...built, type, dynamic: current.dynamic })),
      ];
      if (faults.length > 0 || (checked !== undefined && isFaults(checked))) throw invalid(faults);
      const fields = { ...built, target: checked?.target ?? current.target };
      if (!current.dynamic && fields.target !== current.target) {
        throw new Failure('static_code', 'The target of a static code is in its printed image');
      }
      const difference = differenceOf(current, fields);
      if (difference === undefined) {
        alongside?.(current);
        return { code: current, changed: false };
      }
      const updatedAtMs = Math.max(clock.now(), current.updatedAtMs);
      const next: QrCodeRecord = compact({ ...current, ...cleared, ...fields, updatedAtMs });
      this.#store(actor, current, next, difference);
      alongside?.(next);
      return { code: next, changed: true };
    });
    if (changed) this.links.wake(code);
    return code;
  }

  #store(actor: Actor, current: QrCodeRecord, next: QrCodeRecord, difference: Difference): void {
    const { store, outbox } = this.#parts;
    store.codes.put(next.no, packCode(next));
    moveTerms(store, current, next);
    this.links.write(next);
    const data = { id: next.id, ...difference, updatedBy: actor.userId };
    outbox.append('qr.updated', actor.workspaceNo, data, next.updatedAtMs);
  }

  #mustFind(actor: Actor, id: string): QrCodeRecord {
    const code = this.find(actor.workspaceNo, id);
    if (code === undefined) throw new Failure('not_found', 'There is no QR code with this id');
    return code;
  }

  /** Inside the transaction: what it finds free stays free until the code is written. */
  #freeShortCode(slug: string | undefined): string {
    const { shortCodes } = this.#parts.store;
    if (slug !== undefined) {
      if (!shortCodes.has(foldShortCode(slug))) return slug;
      const message = 'This slug is in use, or was, and short codes are never given out again';
      const faults = [{ path: 'slug', code: 'slug_taken', message }];
      throw new Failure('slug_taken', message, { faults });
    }
    for (let tries = 0; tries < shortCodeTriesMax; tries++) {
      const code = generateShortCode(this.#parts.randomBytes);
      if (!shortCodes.has(code)) return code;
    }
    throw new Error(`Cannot find a free short code in ${shortCodeTriesMax} tries, expected one`);
  }
}

function invalid(faults: readonly Fault[]): Failure {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new Failure('validation_failed', `The request has ${count}`, { faults });
}
