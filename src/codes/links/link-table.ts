/**
 * The port through which a committed change reaches the redirect threads. The shared-memory table of
 * `links/` stands behind it; `put` and `retire` are visible to every redirect thread when they return.
 */
import type { Link } from '../../links/layout.ts';
import type { StoredLinkBytes } from '../../links/writer.ts';

export interface LinkTable {
  /** Fills the table at start; see links/writer.ts for what the caller vouches for. */
  adopt(link: StoredLinkBytes): void;
  put(link: Link): void;
  retire(key: string): void;
  /** Raises, or lowers, the scans left of a limited link, exactly, while some are taken; below zero counts. */
  addScans(key: string, scans: number): void;
}
