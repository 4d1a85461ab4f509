/**
 * The change of a code: the editable fields, the merge patch, and the difference for the event.
 */
import { isDeepStrictEqual } from 'node:util';
import type { QrCodeRecord } from '../../model/code.ts';
import { isoTime } from '../../model/day.ts';
import type { Design } from '../../model/design.ts';
import { mergePatch } from './merge-patch.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import {
  type GivenRoutes,
  plainFields,
  type RouteFields,
  shownRoutes,
} from './routing/route-fields.ts';
import { deletedRouting } from './routing/stored-routing.ts';

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

/** A merge patch (RFC 7396): absent = keep, null = default; `utm`, `metadata` and `design` are merged at every depth. */
export type CodeChange = { readonly target?: string | undefined } & {
  readonly [Field in Exclude<keyof CodeReplacement, 'target' | 'design'>]?:
    | CodeReplacement[Field]
    | null;
} & { readonly design?: object | null | undefined };

/** Checks that a code can be scanned in this design. The wiring hands it in from product/images/. */
export interface DesignRule {
  /**
   * @param code the fields that alone decide what the symbol says
   * @returns the design as it is stored, with the name of its logo
   * @throws Failure validation_failed, unscannable, overloaded, storage_full
   */
  accept(
    workspaceNo: WorkspaceNo,
    code: Pick<QrCodeRecord, 'dynamic' | 'shortCode' | 'target'>,
    design: object,
  ): Promise<Design>;
}

/** The fields that PATCH and PUT can change. */
export type Editable = Pick<
  QrCodeRecord,
  'target' | 'name' | 'tags' | 'expiresAtMs' | 'scanLimit' | 'metadata' | 'externalId' | 'design'
> & { readonly campaignIds: readonly string[]; readonly routing?: RouteFields };

/** A code with the campaigns that it is in, oldest first. */
export type CodeInCampaigns = QrCodeRecord & Pick<Editable, 'campaignIds'>;

/** Spread over a record, removes every editable field that can be absent. */
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

/** The record of a deleted code, without the fields of its redirects. */
export function deletedCode(current: QrCodeRecord, deletedAtMs: number): QrCodeRecord {
  const routing = current.routing && deletedRouting(current.routing);
  return compact({ ...current, routing, deletedAtMs });
}

/** The editable fields after the change. */
export function patched(current: CodeInCampaigns, change: CodeChange): CodeReplacement {
  const routes: RouteFields = current.routing ?? plainFields;
  return mergePatch<CodeReplacement>({ ...editableOf(current), ...routes }, compact(change));
}

/** The editable fields with their defaults; routing/code-routing.ts checks and makes the routes. */
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
