/**
 * Creates, reads, changes and deletes QR codes.
 *
 *   check the fields -> one transaction: record, indexes, short code, link block, event, kept answer
 *                    -> commit -> publish to the link table -> the promise resolves
 *
 * So when the API answers, the change is durable, its event is in the outbox, and no redirect thread
 * serves the old target. Writers of one code may finish in any order: publishing reads the newest
 * committed link instead of carrying its own, so the table never ends with an older target.
 *
 * Every transaction checks before its first write; one that throws is undone.
 * The link table has the scans left of a limited code: a changed limit is added there exactly. A first limit begins at the
 * counted scans, which lag by one window (about 120 ms).
 */
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { Clock } from '../../model/clock.ts';
import { foldShortCode, type QrCodeRecord, type ScannedCode } from '../../model/code.ts';
import { Failure, readOr } from '../../model/failure.ts';
import type { Design } from '../../model/design.ts';
import { parseId, type IdSource, type RandomBytes } from '../../model/ids.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import { packCode, unpackCode } from '../../store/management/code-codec.ts';
import type { Management } from '../../store/management/management.ts';
import { type BatchHooks, BulkRequests } from './bulk/bulk-requests.ts';
import { CodeImports } from './bulk/code-import.ts';
import {
  cleared,
  compact,
  deletedCode,
  differenceOf,
  patched,
  type CodeChange,
  type CodeInCampaigns,
  type CodeReplacement,
  type DesignRule,
} from './code-change.ts';
import {
  CodeCreation,
  type CodeDraft,
  type CreateOutcome,
  type PreparedDraft,
} from './code-creation.ts';
import { deletedRetentionMs } from './code-retention.ts';
import {
  type CodeFilter,
  CodeListing,
  type CodeSlice,
  type CodePage,
  type CodePageRequest,
} from './search/listing.ts';
import { LinkLoader } from './links/link-loader.ts';
import type { LinkTable } from './links/link-table.ts';
import { Memberships } from './memberships.ts';
import { mergePatch } from './merge-patch.ts';
import { CodeRouting, type RoutesSeen } from './routing/code-routing.ts';
import { listTags, type TagCount } from './tags.ts';
import { validateTarget } from './targets.ts';
import { moveTerms } from './search/terms.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Runs in the transaction that creates a code, after its writes; must not throw. Idempotency keeps the answer here. */
export type InTransaction = (code: QrCodeRecord) => void;

export interface CodesOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly links: LinkTable;
  readonly ids: IdSource;
  readonly clock: Clock;
  /** For short codes and the keys of splits; absent = the machine's. */
  readonly randomBytes?: RandomBytes;
  /** Public address of short links, without a trailing slash. */
  readonly shortUrlBase: string;
  /** Scans of a code that are counted so far. */
  readonly scansOf: (codeNo: CodeNo) => number;
  /** Absent = labels of routes are never given to others: for commands that read no scans. */
  readonly routesSeen?: RoutesSeen;
  /** Absent = a design is a defect: for commands that make none. */
  readonly designs?: DesignRule;
}

/** A design is checked outside the transaction: tries to find it unchanged inside. */
const editTriesMax = 8;
/** Damaged records of which an event is due; a folder with more needs a restore. */
const damagedMax = 1_000;

export class Codes {
  readonly #options: CodesOptions;
  readonly #listing: CodeListing;
  readonly #creation: CodeCreation;
  readonly #ownHosts: readonly string[];
  readonly #routing: CodeRouting;
  readonly #damagedIds = new LRUCache<CodeNo, { readonly id: string | undefined }>({
    max: damagedMax,
  });
  /** Batches come one after the other: each holds the thread for some ms. */
  readonly #batchLock = pLimit(1);
  /** Many codes for one request, each made once. */
  readonly bulk: BulkRequests;
  /** Files of any length. */
  readonly imports: CodeImports;
  /** Start-up reading of all links, and their way into the link table. */
  readonly links: LinkLoader;
  /** Which codes are in which campaigns. */
  readonly memberships: Memberships;

  constructor(options: CodesOptions) {
    this.#options = options;
    this.#listing = new CodeListing(options);
    this.links = new LinkLoader(options.store, options.links, options.scansOf);
    this.memberships = new Memberships(options.store, options.clock);
    this.#ownHosts = [new URL(options.shortUrlBase).host];
    this.#routing = new CodeRouting(options, this.#ownHosts);
    const { links, memberships } = this;
    this.#creation = new CodeCreation(options, links, memberships, this.#routing);
    this.bulk = new BulkRequests(options.store, options.clock, this);
    this.imports = new CodeImports(options.store, options.clock, this);
  }

  /** @throws Failure validation_failed with every fault, slug_taken, external_id_taken, storage_full */
  async create(
    actor: Actor,
    draft: CodeDraft,
    inTransaction?: InTransaction,
  ): Promise<QrCodeRecord> {
    const prepared = await this.#creation.prepare(actor, draft);
    const code = await this.#options.store.environment.transaction(() => {
      const created = this.#creation.insert(actor, prepared);
      inTransaction?.(created);
      return created;
    });
    this.links.publish(code);
    return code;
  }

  /**
   * Creates many in one transaction; a draft that fails, or is a failure already, leaves the others alone,
   * as if each came by itself. A draft takes about 0.15 ms, and other requests wait for the whole batch.
   * @throws Failure storage_full: nothing is created then
   */
  async createMany(
    actor: Actor,
    drafts: ReadonlyArray<CodeDraft | Failure>,
    hooks: BatchHooks = {},
  ): Promise<CreateOutcome[]> {
    const prepared: Array<PreparedDraft | Failure> = [];
    for (const draft of drafts) {
      if (draft instanceof Failure) prepared.push(draft);
      else prepared.push(await this.#creation.prepare(actor, draft).catch(rethrowDefect));
    }
    return await this.#batchLock(async () => await this.#insertBatch(actor, prepared, hooks));
  }

  async #insertBatch(
    actor: Actor,
    prepared: ReadonlyArray<PreparedDraft | Failure>,
    { beforeWrites, afterWrites }: BatchHooks,
  ): Promise<CreateOutcome[]> {
    const outcomes = await this.#options.store.environment.transaction(() => {
      beforeWrites?.();
      const inserted = this.#creation.insertMany(actor, prepared);
      afterWrites?.(inserted);
      return inserted;
    });
    this.links.publishMany(outcomes.flatMap((one) => (one instanceof Failure ? [] : [one.no])));
    return outcomes;
  }

  /** What is wrong with a draft, as far as it can be known without creating it; designs are not checked. */
  faultOf(actor: Actor, draft: CodeDraft): Failure | undefined {
    return this.#creation.faultOf(actor, draft);
  }

  /** The short code, as it is written, that this slug leads to; also of a deleted code. */
  holderOf(slug: string): string | undefined {
    const no = this.#options.store.shortCodes.get(foldShortCode(slug));
    const packed = no === undefined ? undefined : this.#options.store.codes.get(no);
    return no === undefined || packed === undefined ? undefined : unpackCode(no, packed).shortCode;
  }

  /** The live code of this id in the workspace; undefined also when it is another workspace's. */
  find(workspaceNo: WorkspaceNo, id: string): QrCodeRecord | undefined {
    const code = this.findKept(workspaceNo, id);
    return code?.deletedAtMs === undefined ? code : undefined;
  }

  /** @throws Failure not_found */
  get(workspaceNo: WorkspaceNo, id: string): QrCodeRecord {
    return existing(this.find(workspaceNo, id));
  }

  /** The same, and a deleted code while its analytics are kept. @throws Failure not_found */
  getKept(workspaceNo: WorkspaceNo, id: string): QrCodeRecord {
    return existing(this.findKept(workspaceNo, id));
  }

  findKept(workspaceNo: WorkspaceNo, id: string): QrCodeRecord | undefined {
    const code = this.findAnywhere(id);
    return code?.workspaceNo === workspaceNo ? code : undefined;
  }

  /** The code of this id in any workspace, live or deleted less than 90 days ago. */
  findAnywhere(id: string): QrCodeRecord | undefined {
    if (parseId('qr', id) === undefined) return undefined;
    const no = this.#options.store.codeIds.get(id);
    return no === undefined ? undefined : this.findByNo(no);
  }

  findByExternalId(workspaceNo: WorkspaceNo, externalId: string): QrCodeRecord | undefined {
    const no = this.#options.store.externalIds.get([workspaceNo, externalId]);
    return no === undefined ? undefined : this.findByNo(no);
  }

  findByNo(no: CodeNo): QrCodeRecord | undefined {
    const packed = this.#options.store.codes.get(no);
    if (packed === undefined) return undefined;
    const code = unpackCode(no, packed);
    const keptUntilMs = (code.deletedAtMs ?? Infinity) + deletedRetentionMs;
    return this.#options.clock.now() < keptUntilMs ? code : undefined;
  }

  /** Also one whose record is damaged; undefined when it is removed. */
  findScanned(no: CodeNo): ScannedCode | undefined {
    const code = readOr(() => this.findByNo(no), 'damaged');
    if (code !== 'damaged') return code;
    const { id } = this.#damagedIds.get(no) ?? { id: this.#searchId(no) };
    this.#damagedIds.set(no, { id });
    return id === undefined ? undefined : { id };
  }

  /** The id of a code with a damaged record, for its events: walks all of `code_ids` once for each such code, 1 us an id. */
  #searchId(no: CodeNo): string | undefined {
    for (const { key, value } of this.#options.store.codeIds.range({}, () => undefined)) {
      if (value === no) return key;
    }
    return undefined;
  }

  /** @throws Failure not_found, static_code, external_id_taken, validation_failed, storage_full */
  async change(
    actor: Actor,
    id: string,
    change: CodeChange,
    check?: CodeCheck,
  ): Promise<QrCodeRecord> {
    const build = (current: CodeInCampaigns): CodeReplacement => patched(current, change);
    const { target, design } = change;
    const designOf =
      design === undefined
        ? undefined
        : (old: object = {}) => (design === null ? undefined : mergePatch(old, design));
    return await this.#edit(actor, id, { check, target, designOf, build });
  }

  /** @throws Failure not_found, static_code, external_id_taken, validation_failed, storage_full */
  async replace(
    actor: Actor,
    id: string,
    replacement: CodeReplacement,
    check?: CodeCheck,
  ): Promise<QrCodeRecord> {
    const build = (): CodeReplacement => replacement;
    const { target, design } = replacement;
    return await this.#edit(actor, id, { check, target, designOf: () => design, build });
  }

  /** @returns the deleted record @throws Failure not_found, storage_full */
  async delete(actor: Actor, id: string, check?: CodeCheck): Promise<QrCodeRecord> {
    const { store, clock, outbox } = this.#options;
    const code = await store.environment.transaction(() => {
      const [current, nowMs] = [this.get(actor.workspaceNo, id), clock.now()];
      check?.(current);
      const deleted = deletedCode(current, nowMs);
      store.codes.put(current.no, packCode(deleted));
      store.deletedCodes.put([nowMs, current.no], 1);
      moveTerms(store, current, undefined);
      this.memberships.markDeleted(current);
      this.links.write(deleted);
      outbox.append('qr.deleted', actor.workspaceNo, { id, deletedBy: actor.userId }, nowMs);
      return deleted;
    });
    this.links.publish(code);
    return code;
  }

  /** One page, newest first. @throws Failure validation_failed for a cursor of another list */
  async list(workspaceNo: WorkspaceNo, request: CodePageRequest): Promise<CodePage> {
    return await this.#listing.page(workspaceNo, request);
  }

  /** Every code of the filter, newest first, in slices of some hundred. */
  listAll(workspaceNo: WorkspaceNo, filter: CodeFilter): AsyncIterable<CodeSlice> {
    return this.#listing.all(workspaceNo, filter);
  }

  /** The tags of the workspace's codes (tags.ts). */
  async tags(
    workspaceNo: WorkspaceNo,
    wanted: { readonly search: string; readonly limit: number },
  ): Promise<{ readonly data: TagCount[]; readonly total: number }> {
    return await listTags(this.#options.store, workspaceNo, wanted);
  }

  /** What a dynamic code's symbol leads to. */
  shortUrl(code: QrCodeRecord): string | undefined {
    return code.shortCode === undefined
      ? undefined
      : `${this.#options.shortUrlBase}/${code.shortCode}`;
  }

  async #edit(actor: Actor, id: string, edit: Edit): Promise<QrCodeRecord> {
    for (let tries = 0; tries < editTriesMax; tries++) {
      const edited = await this.#tryEdit(actor, id, edit);
      if (edited === undefined) continue;
      if (edited.changed) this.links.publish(edited.code);
      return edited.code;
    }
    throw new Failure('conflict', 'The design is being changed by other requests, try again');
  }

  /** Undefined when another request changed the design between its check and the transaction. */
  async #tryEdit(
    actor: Actor,
    id: string,
    { check, target, designOf, build }: Edit,
  ): Promise<{ readonly code: QrCodeRecord; readonly changed: boolean } | undefined> {
    const { store, clock, outbox } = this.#options;
    // The type never changes, so the target is checked before the writer's lock is taken.
    const seen = this.get(actor.workspaceNo, id);
    const checked =
      target === undefined ? undefined : validateTarget(seen.type, target, this.#ownHosts);
    const accepted =
      designOf && (await this.#creation.acceptedDesign(actor, seen, designOf(seen.design)));
    return await store.environment.transaction(() => {
      const current = this.get(actor.workspaceNo, id);
      check?.(current);
      const isStale = designOf !== undefined && !isDeepStrictEqual(current.design, seen.design);
      if (isStale) return undefined;
      const design = designOf === undefined ? current.design : accepted;
      const before = this.memberships.campaignsOf(current.no);
      const old = { ...current, campaignIds: before.map(({ id: one }) => one) };
      const given = build(old);
      const { campaignIds: ids = [] } = given;
      const after = this.memberships.campaignsAfter(current.workspaceNo, before, ids);
      const campaignIds = after.map(({ id: one }) => one);
      const names = this.memberships.namesAfter(current.routing, before, after);
      const wanted = { ...given, campaignIds, design };
      const { fields, campaign } = this.#creation.checkedChange(current, wanted, names, checked);
      const difference = differenceOf(old, fields);
      if (difference === undefined) return { code: current, changed: false };
      this.#creation.checkExternalId(current.workspaceNo, fields.externalId, current.no);
      const updatedAtMs = Math.max(clock.now(), current.updatedAtMs);
      const at = { codeNo: current.no, campaign, nowMs: updatedAtMs };
      const routing = this.#routing.stored(fields.routing, current.routing, at);
      const { campaignIds: _ids, ...kept } = fields;
      const next = compact({ ...current, ...cleared, ...kept, routing, updatedAtMs });
      store.codes.put(next.no, packCode(next));
      moveTerms(store, current, next);
      this.memberships.move(next, before, after);
      this.links.write(next);
      const data = { id, ...difference, updatedBy: actor.userId };
      outbox.append('qr.updated', actor.workspaceNo, data, updatedAtMs);
      return { code: next, changed: true };
    });
  }
}

function existing(code: QrCodeRecord | undefined): QrCodeRecord {
  if (code !== undefined) return code;
  throw new Failure('not_found', 'There is no QR code with this id');
}

/** Refuses a code as a change finds it, inside its transaction. @throws Failure */
export type CodeCheck = (current: QrCodeRecord) => void;

/** The fields that a change sets, and how it turns the present code into the new one. */
interface Edit {
  readonly check: CodeCheck | undefined;
  readonly target: string | undefined;
  /** Makes the new design from the present one; undefined = it stays. */
  readonly designOf: ((design: Design | undefined) => object | undefined) | undefined;
  readonly build: (current: CodeInCampaigns) => CodeReplacement;
}

function rethrowDefect(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}
