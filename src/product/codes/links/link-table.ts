/**
 * The interface through which a committed change reaches the redirect threads; engine/links/writer.ts implements it in shared memory.
 * Every redirect thread sees the effect of `put` and `delete` when they return.
 */
import type { Link } from '../../../engine/links/layout.ts';

export interface LinkTable {
  /** Fills the table at start; engine/links/writer.ts has its preconditions. */
  bulkLoad(link: Omit<Link, 'scansLeft'>): void;
  put(link: Link): void;
  delete(key: string): void;
  /** Adds to the scans left of a limited link, exactly, while some are taken; `scans` may be negative. */
  addScans(key: string, scans: number): void;
  /** Takes all scans left of a limited link, and returns them; below zero = over its limit. Undefined without a limit. */
  takeScansLeft(key: string): number | undefined;
}

/** Of a process that does not redirect. */
export const noLinkTable: LinkTable = {
  bulkLoad: () => undefined,
  put: () => undefined,
  delete: () => undefined,
  addScans: () => undefined,
  takeScansLeft: () => undefined,
};
