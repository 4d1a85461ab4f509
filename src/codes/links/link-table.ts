/**
 * The port through which a committed change reaches the redirect threads. The shared-memory table of
 * `links/` stands behind it; `put` and `delete` are visible to every redirect thread when they return.
 */
import type { Link } from '../../links/layout.ts';

export interface LinkTable {
  /** Fills the table at start; links/writer.ts says what it takes for granted. */
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
