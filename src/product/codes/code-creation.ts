/**
 * Creates a code: checks it before the transaction, and writes it inside.
 *
 *   prepare(actor, draft)    without a lock: target, rules; a design on the symbol that it is for
 *   insert(actor, prepared)  inside a transaction: short code, record, indexes, link, event
 *
 * One code and thousands take the same two steps, so a row of a file obeys the rules of a single request.
 * `insert` checks before its first write: a row that fails writes nothing, and the other rows of the transaction are made.
 */
import { randomFillSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../model/clock.ts';
import {
  type CodeType,
  foldShortCode,
  generateShortCode,
  type QrCodeRecord,
} from '../../model/code.ts';
import type { Design } from '../../model/design.ts';
import { Failure, type Fault, isDamage } from '../../model/failure.ts';
import type { IdSource, RandomBytes } from '../../model/ids.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import { packCode } from '../../store/management/code-codec.ts';
import type { Management } from '../../store/management/management.ts';
import {
  type CodeReplacement,
  compact,
  type DesignRule,
  type Editable,
  editableOf,
} from './code-change.ts';
import type { LinkLoader } from './links/link-loader.ts';
import type { Memberships } from './memberships.ts';
import type { CodeRouting } from './routing/code-routing.ts';
import { contentFaults } from './rules.ts';
import { type CheckedTarget, isFaults, validateTarget } from './targets.ts';
import { spelledTags } from './tags.ts';
import { moveTerms } from './search/terms.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/**
 * Tries for a free generated code. With a billion codes of 2^40, 0.1 % of tries fail; sixteen failures in a row mean
 * that the randomness is broken.
 */
const shortCodeTriesMax = 16;

/** A new code. Absent = default. */
export interface CodeDraft extends Omit<CodeReplacement, 'design'> {
  /** Default `url`. */
  readonly type?: CodeType | undefined;
  /** Default true for `url`, false for the types that are always static. */
  readonly dynamic?: boolean | undefined;
  readonly slug?: string | undefined;
  /** A logo in it may be a data URL. */
  readonly design?: object | undefined;
}

/** A draft without faults; whether its slug is free is checked in the transaction. */
export interface PreparedDraft {
  readonly slug: string | undefined;
  /** The slug, or a drawn short code that is almost surely free; undefined for a static code. */
  readonly wanted: string | undefined;
  /** Name of its campaign, checked as part of the targets. */
  readonly campaign: string;
  readonly fields: Editable & Pick<QrCodeRecord, 'type' | 'dynamic'>;
}

/** The result of one draft among many. */
export type CreateOutcome = QrCodeRecord | Failure;

export interface CodeCreationOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly randomBytes?: RandomBytes;
  readonly shortUrlBase: string;
  /** Absent = a design is a defect. */
  readonly designs?: DesignRule;
}

export class CodeCreation {
  readonly #options: CodeCreationOptions;
  readonly #links: LinkLoader;
  readonly #memberships: Memberships;
  readonly #routing: CodeRouting;
  readonly #ownHosts: readonly string[];
  readonly #randomBytes: RandomBytes;

  constructor(
    options: CodeCreationOptions,
    links: LinkLoader,
    memberships: Memberships,
    routing: CodeRouting,
  ) {
    this.#options = options;
    this.#routing = routing;
    this.#links = links;
    this.#memberships = memberships;
    this.#ownHosts = [new URL(options.shortUrlBase).host];
    this.#randomBytes = options.randomBytes ?? randomFillSync;
  }

  /** @throws Failure validation_failed with every fault, unscannable */
  async prepare(actor: Actor, draft: CodeDraft): Promise<PreparedDraft> {
    const prepared = this.#check(actor, draft);
    if (draft.design === undefined) return prepared;
    const { wanted, fields } = prepared;
    const source = compact({ dynamic: fields.dynamic, shortCode: wanted, target: fields.target });
    const design = await this.acceptedDesign(actor, source, draft.design);
    return { ...prepared, fields: compact({ ...fields, design }) };
  }

  /** What `prepare` and `insert` would throw, the design apart. */
  faultOf(actor: Actor, draft: CodeDraft): Failure | undefined {
    try {
      const { slug, wanted, fields } = this.#check(actor, draft);
      this.checkExternalId(actor.workspaceNo, fields.externalId);
      if (wanted !== undefined) this.#freeShortCode(slug, wanted);
      return undefined;
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    }
  }

  /** `prepare` without the design. */
  #check(actor: Actor, draft: CodeDraft): PreparedDraft {
    const type = draft.type ?? 'url';
    const content = {
      type,
      dynamic: draft.dynamic ?? type === 'url',
      slug: draft.slug,
      ...editableOf({ ...draft, design: undefined }),
    };
    const checked = validateTarget(type, draft.target, this.#ownHosts);
    const bad = isFaults(checked) ? checked : [];
    // Drawn before the transaction, because the check of a design needs the symbol.
    const wanted = content.dynamic
      ? (draft.slug ?? generateShortCode(this.#randomBytes))
      : undefined;
    const { dynamic, expiresAtMs, campaignIds } = content;
    const campaign = this.#memberships.nameOf(actor.workspaceNo, campaignIds);
    const target = isFaults(checked) ? undefined : checked.target;
    const about = { dynamic, target, slug: wanted ?? '', campaign, expiresAtMs };
    const routes = this.#routing.check(draft, about, undefined);
    const faults = [...bad, ...contentFaults(compact(content)), ...routes.faults];
    if (isFaults(checked) || faults.length > 0) throw invalid(faults);
    const { slug, ...rest } = { ...content, target: checked.target, routing: routes.kept };
    return { slug, wanted, campaign, fields: compact(rest) };
  }

  /** Inside a transaction. @throws Failure slug_taken, external_id_taken, before it has written anything */
  insert(actor: Actor, prepared: PreparedDraft): QrCodeRecord {
    const { slug, wanted, campaign } = prepared;
    const { campaignIds, ...fields } = prepared.fields;
    const { store, ids, clock, outbox } = this.#options;
    const campaigns = this.#memberships.campaignsAfter(actor.workspaceNo, [], campaignIds);
    this.checkExternalId(actor.workspaceNo, fields.externalId);
    const shortCode = wanted === undefined ? undefined : this.#freeShortCode(slug, wanted);
    const nowMs = clock.now();
    const created: QrCodeRecord = compact({
      ...fields,
      tags: spelledTags(store, actor.workspaceNo, fields.tags),
      routing: this.#routing.stored(fields.routing, undefined, { campaign, nowMs }),
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
    this.#memberships.move(created, [], campaigns);
    this.#links.write(created);
    const { id, type, target, dynamic, createdBy } = created;
    const shortUrl =
      shortCode === undefined ? {} : { shortUrl: `${this.#options.shortUrlBase}/${shortCode}` };
    const data = { id, type, target, dynamic, ...shortUrl, createdBy };
    outbox.append('qr.created', actor.workspaceNo, data, nowMs);
    return created;
  }

  /** Many in one transaction: each succeeds or fails by itself; a failure stays one. */
  insertMany(actor: Actor, drafts: ReadonlyArray<PreparedDraft | Failure>): CreateOutcome[] {
    return drafts.map((draft) => {
      if (draft instanceof Failure) return draft;
      try {
        return this.insert(actor, draft);
      } catch (error) {
        // Damage may be found after the first write: the whole transaction is undone.
        if (error instanceof Failure && !isDamage(error)) return error;
        throw error;
      }
    });
  }

  /** The design to store; one that the code already has was checked before. */
  async acceptedDesign(
    actor: Actor,
    code: Pick<QrCodeRecord, 'dynamic' | 'shortCode' | 'target' | 'design'>,
    design: object | undefined,
  ): Promise<Design | undefined> {
    if (design === undefined || Object.keys(design).length === 0) return undefined;
    if (isDeepStrictEqual(design, code.design)) return code.design;
    const { designs } = this.#options;
    if (designs === undefined) {
      throw new Error('Cannot take a design: there is no DesignRule to check it, expected one');
    }
    return await designs.accept(actor.workspaceNo, code, design);
  }

  /** The fields to store. @throws Failure validation_failed with every fault, static_code */
  checkedChange(
    current: QrCodeRecord,
    given: CodeReplacement,
    names: ReturnType<Memberships['namesAfter']>,
    target: CheckedTarget | undefined,
  ): { readonly fields: Editable; readonly campaign: string } {
    const { type, dynamic, workspaceNo, shortCode: slug = '' } = current;
    const built = editableOf(given);
    const isBad = target !== undefined && isFaults(target);
    const href = isBad ? undefined : (target?.target ?? current.target);
    const { expiresAtMs } = built;
    const about = { dynamic, target: href, slug, ...names, expiresAtMs };
    const routes = this.#routing.check(given, about, current.routing);
    const faults = [
      ...(isBad ? target : []),
      ...contentFaults({ ...built, type, dynamic }),
      ...routes.faults,
    ];
    if (faults.length > 0 || href === undefined) throw invalid(faults);
    if (!dynamic && href !== current.target) {
      throw new Failure('static_code', 'The target of a static code is in its printed image');
    }
    const tags = isDeepStrictEqual(built.tags, current.tags)
      ? current.tags
      : spelledTags(this.#options.store, workspaceNo, built.tags, current.tags);
    const fields = compact({ ...built, tags, target: href, routing: routes.kept });
    return { fields, campaign: routes.campaign };
  }

  /** Inside the transaction. @param no of the code that may have it @throws Failure external_id_taken */
  checkExternalId(workspaceNo: WorkspaceNo, externalId: string | undefined, no?: CodeNo): void {
    if (externalId === undefined) return;
    const holder = this.#options.store.externalIds.get([workspaceNo, externalId]);
    if (holder === undefined || holder === no) return;
    throw taken('externalId', 'external_id_taken', 'Another code of the workspace has this id');
  }

  /** Inside the transaction: what it finds free stays free until the code is written. */
  #freeShortCode(slug: string | undefined, wanted: string): string {
    const { shortCodes } = this.#options.store;
    if (slug !== undefined) {
      if (!shortCodes.has(foldShortCode(slug))) return slug;
      const message = 'This slug is or was in use, and a short code is never used again';
      throw taken('slug', 'slug_taken', message);
    }
    if (!shortCodes.has(wanted)) return wanted;
    for (let tries = 1; tries < shortCodeTriesMax; tries++) {
      const code = generateShortCode(this.#randomBytes);
      if (!shortCodes.has(code)) return code;
    }
    throw new Error(`Cannot find a free short code in ${shortCodeTriesMax} tries, expected one`);
  }
}

export function taken(path: string, code: Failure['code'], message: string): Failure {
  return new Failure(code, message, { faults: [{ path, code, message }] });
}

function invalid(faults: readonly Fault[]): Failure {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new Failure('validation_failed', `The request has ${count}`, { faults });
}
