/** Writes what was found of a watch, with its timers, which stand in tables of their own. Inside a transaction. */
import type { WatchFindings } from '../model/watches/watch.ts';
import type { WatchTables } from '../store/management/product-tables.ts';

/** @param after absent = the watch goes */
export function putFindings(
  { findings, scansDue, targetDue }: WatchTables,
  id: string,
  before: WatchFindings | undefined,
  after: WatchFindings | undefined,
): void {
  if (before?.scansDueMs !== undefined) scansDue.remove([before.scansDueMs, id]);
  if (before?.targetDueMs !== undefined) targetDue.remove([before.targetDueMs, id]);
  if (after === undefined) return findings.remove(id);
  if (after.scansDueMs !== undefined) scansDue.put([after.scansDueMs, id], 1);
  if (after.targetDueMs !== undefined) targetDue.put([after.targetDueMs, id], 1);
  findings.put(id, after);
}

/** The findings with what their watch looks for from now on. */
export function withDue(
  { scansDueMs: _scans, targetDueMs: _target, ...rest }: WatchFindings,
  due: {
    readonly scansDueMs?: number | undefined;
    readonly targetDueMs?: number | undefined;
  },
): WatchFindings {
  const { scansDueMs, targetDueMs } = due;
  return {
    ...rest,
    ...(scansDueMs === undefined ? {} : { scansDueMs }),
    ...(targetDueMs === undefined ? {} : { targetDueMs }),
  };
}
