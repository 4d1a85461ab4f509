/** Scans by code, tag or campaign: the scans of each code, grouped by its current record. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Codes } from '../../product/codes/codes.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { readOr } from '../../model/failure.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { CodeScans, Subject } from '../../engine/analytics/subject.ts';
import type { BreakdownRow } from '../../engine/analytics/answers.ts';
import { isEmptyFilter, type ScanFilter } from '../../engine/analytics/filter.ts';
import type { ScanQueries } from '../../engine/analytics/queries.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { GroupBreakdownBy } from './analytics-schemas.ts';

/** Codes whose records are read between two yields: about 2 ms. */
const sliceCodes = 200;
/** Rows of an answer. */
const rowsMax = 10_000;

export interface GroupServices {
  readonly scans: Pick<ScanQueries, 'analytics' | 'topCodes'>;
  readonly codes: Pick<Codes, 'findByNo' | 'memberships'>;
}

interface Of {
  readonly subject: Subject;
  readonly range: LocalRange;
  readonly filter: ScanFilter;
}

/** Most scans first; a code with two tags, or in two campaigns, counts in both. @throws Failure validation_failed, overloaded */
export async function groupRows(
  services: GroupServices,
  of: Of,
  by: GroupBreakdownBy,
  workspaceNo: WorkspaceNo,
): Promise<BreakdownRow[]> {
  const rows = new Map<string, BreakdownRow>();
  const scanned = await scansByCode(services.scans, of, workspaceNo);
  for (const [at, { codeNo, scans }] of scanned.entries()) {
    if (at % sliceCodes === sliceCodes - 1) await yieldToEventLoop();
    const code = readOr(() => services.codes.findByNo(codeNo), undefined);
    if (code === undefined || code.workspaceNo !== workspaceNo) continue;
    for (const { key, name } of groupsOf(services.codes, code, by)) {
      const row = rows.get(key) ?? { key, ...(name === undefined ? {} : { name }), scans: 0 };
      rows.set(key, { ...row, scans: row.scans + scans });
    }
  }
  const sorted = [...rows.values()].sort((a, b) => b.scans - a.scans || (a.key < b.key ? -1 : 1));
  return sorted.slice(0, rowsMax);
}

/** The codes of a subject that have scans in a range; with a filter, most scans first. */
export async function scansByCode(
  { analytics, topCodes }: GroupServices['scans'],
  { subject, range, filter }: Of,
  workspaceNo: WorkspaceNo,
): Promise<CodeScans[]> {
  if ('codes' in subject || !isEmptyFilter(filter)) {
    return await analytics.scansByCode(subject, range, filter);
  }
  const found: CodeScans[] = [];
  await topCodes.eachChunk({ ...range, workspaceNo }, (counts) => {
    for (const [codeNo, scans] of counts) found.push({ codeNo, scans });
  });
  return found;
}

function groupsOf(
  { memberships }: GroupServices['codes'],
  code: QrCodeRecord,
  by: GroupBreakdownBy,
): ReadonlyArray<{ readonly key: string; readonly name?: string | null }> {
  if (code.deletedAtMs !== undefined) return [];
  if (by === 'tag') return code.tags.map((key) => ({ key }));
  if (by === 'code') return [{ key: code.id, name: code.name ?? null }];
  return memberships.campaignsOf(code.no).map(({ id, name }) => ({ key: id, name }));
}
