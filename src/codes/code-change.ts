/**
 * What a change makes of a code: the fields it can touch, the merge patch, and the difference that
 * goes into the event.
 */
import { isDeepStrictEqual } from 'node:util';
import type { QrCodeRecord } from '../model/code.ts';
import { isoTime } from '../model/day.ts';
import type { Design } from '../model/design.ts';
import { mergePatch } from './merge-patch.ts';
import type { WorkspaceNo } from '../model/numbers.ts';
import {
  type GivenRoutes,
  type RouteFields,
  routesAfter,
  type RoutesChange,
  shownRoutes,
} from './routing/route-fields.ts';
import { deletedRouting } from './routing/stored-routing.ts';

/** A merge patch: absent = keep, null = remove. */
export interface CodeChange extends RoutesChange {
  readonly target?: string | undefined;
  readonly name?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly expiresAtMs?: number | null | undefined;
  readonly scanLimit?: number | null | undefined;
  /** Merged by RFC 7396, at every depth. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined;
  readonly externalId?: string | null | undefined;
  readonly campaignIds?: readonly string[] | null | undefined;
  /** Merged by RFC 7396, at every depth. */
  readonly design?: Readonly<Record<string, unknown>> | null | undefined;
}

/** A full replacement: absent = default. */
export interface CodeReplacement extends GivenRoutes {
  readonly target: string;
  readonly name?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly scanLimit?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly externalId?: string | undefined;
  readonly campaignIds?: readonly string[] | undefined;
  readonly design?: Design | undefined;
}

/** Whether a code can be scanned in this design: the answer of images/, handed in by the wiring. */
export interface DesignRule {
  /**
   * @param code what the symbol says depends on these alone
   * @returns the design as it is kept, a logo by its name
   * @throws Failure validation_failed, unscannable, overloaded, storage_full
   */
  accept(
    workspaceNo: WorkspaceNo,
    code: Pick<QrCodeRecord, 'dynamic' | 'shortCode' | 'target'>,
    design: object,
  ): Promise<Design>;
}

/** What PATCH and PUT can change. */
export type Editable = Pick<
  QrCodeRecord,
  'target' | 'name' | 'tags' | 'expiresAtMs' | 'scanLimit' | 'metadata' | 'externalId' | 'design'
> & { readonly campaignIds: readonly string[]; readonly routing?: RouteFields };

/** A code with the campaigns that it is in, oldest first. */
export type CodeInCampaigns = QrCodeRecord & Pick<Editable, 'campaignIds'>;

/** Spread over a record, takes out every editable field that can be absent. */
export const cleared = {
  name: undefined,
  expiresAtMs: undefined,
  scanLimit: undefined,
  externalId: undefined,
  design: undefined,
  routing: undefined,
};

export interface Difference {
  readonly before: Record<string, unknown>;
  readonly after: Record<string, unknown>;
}

/** The changed fields under their API names, null where a value is absent; undefined = nothing changed. */
export function differenceOf(current: Editable, next: Editable): Difference | undefined {
  const [old, fresh] = [publicFields(current), publicFields(next)];
  const difference: Difference = { before: {}, after: {} };
  for (const [key, value] of Object.entries(fresh)) {
    if (isDeepStrictEqual(old[key], value)) continue;
    difference.before[key] = old[key];
    difference.after[key] = value;
  }
  return Object.keys(difference.after).length === 0 ? undefined : difference;
}

function publicFields(code: Editable): Record<string, unknown> {
  return {
    target: code.target,
    name: code.name ?? null,
    tags: code.tags,
    expiresAt: code.expiresAtMs === undefined ? null : isoTime(code.expiresAtMs),
    scanLimit: code.scanLimit ?? null,
    metadata: code.metadata,
    externalId: code.externalId ?? null,
    campaignIds: code.campaignIds,
    design: code.design ?? null,
    ...shownRoutes(code.routing),
  };
}

/** The design after the change, not yet checked; undefined = none. */
export function designAfter(
  current: Design | undefined,
  change: Readonly<Record<string, unknown>> | null,
): object | undefined {
  return change === null ? undefined : mergePatch({ ...current }, change);
}

/** The record of a code that is deleted: what only says where it led is not kept. */
export function deletedCode(current: QrCodeRecord, deletedAtMs: number): QrCodeRecord {
  const routing = current.routing && deletedRouting(current.routing);
  return compact({ ...current, routing, deletedAtMs });
}

/** What a code would be after the change, its target apart. */
export function patched(current: CodeInCampaigns, change: CodeChange): CodeReplacement {
  const pick = <T>(old: T | undefined, fresh: T | null | undefined): T | undefined =>
    fresh === undefined ? old : (fresh ?? undefined);
  return {
    target: current.target,
    name: pick(current.name, change.name),
    tags: pick(current.tags, change.tags),
    expiresAtMs: pick(current.expiresAtMs, change.expiresAtMs),
    scanLimit: pick(current.scanLimit, change.scanLimit),
    metadata:
      change.metadata === undefined || change.metadata === null
        ? pick(current.metadata, change.metadata)
        : mergePatch(current.metadata, change.metadata),
    externalId: pick(current.externalId, change.externalId),
    campaignIds: pick(current.campaignIds, change.campaignIds),
    ...routesAfter(current.routing, change),
    // It is changed apart, because it is checked outside the transaction.
    design: current.design,
  };
}

/** The editable fields with their defaults; the routes are checked and made apart (routing/code-routing.ts). */
export function editableOf(fields: CodeReplacement): Editable {
  const { target, name, tags = [], expiresAtMs, scanLimit, metadata = {}, externalId } = fields;
  const { campaignIds = [], design } = fields;
  return compact({
    target,
    name,
    tags,
    expiresAtMs,
    scanLimit,
    metadata,
    externalId,
    campaignIds,
    design,
  });
}

export type Compact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without the fields that are undefined. */
export function compact<T extends object>(fields: T): Compact<T>;
export function compact(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
